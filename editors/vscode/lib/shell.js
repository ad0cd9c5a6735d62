// Command lines for the terminal.
'use strict';

/** Commands that only show something, or ask before they do anything. */
const ASKING = new Set(['review', 'undo', 'apply']);
const SHOWING = new Set(['status', 'report']);
const PLAN = /^p\d{1,9}$/;

/**
 * Whether Enter may be sent with a command: it then shows or asks. Signing does not ask again, and of a branch
 * a plan would be made.
 * @param {readonly string[]} words
 */
function enters(words) {
  const [name, about = ''] = words;
  const asks = ASKING.has(name) && PLAN.test(about) && !words.some((word) => word.startsWith('--sign'));
  return asks || SHOWING.has(name);
}

/**
 * @param {string} word
 * @param {string} [platform]
 */
function quoted(word, platform = process.platform) {
  if (/^[\w./:@%+,=-]+$/.test(word)) {
    return word;
  }
  const plain = word.replace(/[\u0000-\u001f\u007f]/g, '');
  return platform === 'win32' ? `"${plain.replace(/"/g, '')}"` : `'${plain.replace(/'/g, `'\\''`)}'`;
}

/**
 * The words of a line in which nothing is quoted.
 * @param {string} line
 */
function plainWords(line) {
  return /^[\w./:@%+,= -]+$/.test(line) ? line.split(' ').filter(Boolean) : undefined;
}

module.exports = { PLAN, enters, plainWords, quoted };
