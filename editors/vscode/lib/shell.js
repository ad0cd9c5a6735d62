// Command lines for the terminal.
'use strict';

/** Commands that only show something, or ask before they do anything. */
const ASKING = new Set(['review', 'undo', 'status', 'report', 'apply']);

/**
 * Whether Enter may be sent with a command: it then shows or asks. Signing does not ask again.
 * @param {readonly string[]} words
 */
function enters(words) {
  return ASKING.has(words[0]) && !words.some((word) => word.startsWith('--sign'));
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

module.exports = { enters, quoted };
