// The only place that starts ringi. What approves, carries out or proposes is not on the list.
'use strict';

const { spawn } = require('node:child_process');

/** What the extension itself may start; everything else a person types at the terminal. */
const ALLOWED = Object.freeze([
  'home',
  'list',
  'show',
  'status',
  'why',
  'amend',
  'reject',
  'discard',
  'state push',
  '--version',
]);
const OLDEST = '0.1.0';
const MOST_BYTES = 512 * 1024 * 1024;
const MOST_WORDS = 64 * 1024;

/** Why ringi did not answer: missing, old, not to be started here, or refused with words of its own. */
class RingiError extends Error {
  /**
   * @param {'missing' | 'old' | 'untrusted' | 'refused' | 'cancelled'} kind
   * @param {string} message
   * @param {string} [code]
   * @param {string} [hint]
   */
  constructor(kind, message, code = '', hint = '') {
    super(message);
    this.kind = kind;
    this.code = code;
    this.hint = hint;
  }
}

/**
 * @param {readonly string[]} words
 * @param {string} language
 * @returns {string[]}
 */
function commandLine(words, language) {
  const name = words[0] === 'state' ? words.slice(0, 2).join(' ') : words[0];
  if (!ALLOWED.includes(name)) {
    throw new Error(`The extension never starts: ringi ${name}`);
  }
  if (name === '--version') {
    return ['--version'];
  }
  return ['--json', '--lang', language === 'ja' ? 'ja' : 'en', ...(name === 'home' ? [] : words)];
}

/**
 * @typedef {{program: string, language: string, folder: string}} Place
 * @typedef {{input?: string | Uint8Array, signal?: AbortSignal}} Options
 */

/**
 * The document that ringi answers with.
 * @param {Place} place
 * @param {readonly string[]} words
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
async function ask(place, words, options = {}) {
  const argv = commandLine(words, place.language);
  const ended = await finished(place, argv, options);
  if (words[0] === '--version') {
    return ended.out.toString('utf8').trim();
  }
  const answer = parsed(ended.out);
  if (answer && answer.error) {
    throw new RingiError('refused', String(answer.error.message), answer.error.code, answer.error.hint);
  }
  if (answer === undefined) {
    throw new RingiError('refused', ended.err.trim() || `ringi ended with code ${ended.code}`);
  }
  return answer;
}

/**
 * Like `ask`, for what only a newer ringi knows.
 * @param {Place} place
 * @param {readonly string[]} words
 * @param {Options} [options]
 */
async function askNewer(place, words, options) {
  try {
    return await ask(place, words, options);
  } catch (error) {
    if (error instanceof RingiError && error.code === 'usage') {
      throw new RingiError('old', error.message, error.code);
    }
    throw error;
  }
}

/**
 * Refuses a ringi that is missing or too old.
 * @param {Place} place
 */
async function requireRingi(place) {
  const said = await ask(place, ['--version']);
  if (!isNewEnough(said)) {
    throw new RingiError('old', said);
  }
}

/** @param {string} said */
function isNewEnough(said) {
  const found = /^ringi (\d+)\.(\d+)\.(\d+)/.exec(said);
  if (!found) {
    return false;
  }
  const [major, minor, patch] = OLDEST.split('.').map(Number);
  const own = found.slice(1).map(Number);
  return (own[0] - major || own[1] - minor || own[2] - patch) >= 0;
}

/**
 * @param {Buffer} bytes
 * @returns {any}
 */
function parsed(bytes) {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * @param {Place} place
 * @param {string[]} argv
 * @param {Options} options
 * @returns {Promise<{code: number | null, out: Buffer, err: string}>}
 */
function finished(place, argv, { input, signal }) {
  return new Promise((resolve, reject) => {
    const child = spawn(place.program, argv, { cwd: place.folder, stdio: ['pipe', 'pipe', 'pipe'], signal });
    /** @type {Buffer[]} */
    const out = [];
    let size = 0;
    let err = '';
    child.stdout.on('data', (piece) => {
      size += piece.length;
      if (size > MOST_BYTES) {
        child.kill();
        reject(new RingiError('refused', `ringi answered with more than ${MOST_BYTES} bytes`));
      } else {
        out.push(piece);
      }
    });
    child.stderr.on('data', (piece) => {
      err = (err + piece).slice(-MOST_WORDS);
    });
    // It may end without reading all of it; its answer says why.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => reject(notStarted(error)));
    child.on('close', (code) => resolve({ code, out: Buffer.concat(out), err }));
  });
}

/**
 * @param {Error & {code?: string}} error
 * @returns {RingiError}
 */
function notStarted(error) {
  if (error.name === 'AbortError') {
    return new RingiError('cancelled', error.message);
  }
  return new RingiError('missing', error.message, error.code);
}

module.exports = { ALLOWED, OLDEST, RingiError, ask, askNewer, commandLine, isNewEnough, requireRingi };
