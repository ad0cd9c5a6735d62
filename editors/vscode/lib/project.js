// What an editor alone knows of a project (CP-10), in the words of `ringi state push`.
'use strict';

const path = require('node:path');

const SEVERITIES = ['error', 'warning', 'note', 'note'];

/**
 * @typedef {{range: {start: {line: number, character: number}}, message: string, severity: number,
 *   source?: string, code?: string | number | {value: string | number}}} Found
 */

/**
 * Below the root, with slashes; undefined if it is elsewhere.
 * @param {string} root
 * @param {string} file
 */
function below(root, file) {
  const found = path.relative(root, file);
  const outside = !found || found === '..' || found.startsWith(`..${path.sep}`) || path.isAbsolute(found);
  return outside ? undefined : found.split(path.sep).join('/');
}

/**
 * @param {string} root
 * @param {Iterable<[string, readonly Found[]]>} diagnostics by file
 * @param {Iterable<string>} unsaved files
 */
function editorState(root, diagnostics, unsaved) {
  const found = [];
  for (const [file, all] of diagnostics) {
    const name = below(root, file);
    if (name) {
      found.push(...all.map((one) => diagnostic(name, one)));
    }
  }
  const names = Array.from(unsaved, (file) => below(root, file)).filter((name) => name !== undefined);
  return { version: '1.0', editor: 'vscode', diagnostics: found, unsaved: Array.from(new Set(names)).sort() };
}

/**
 * @param {string} file
 * @param {Found} one
 */
function diagnostic(file, one) {
  const code = one.code && typeof one.code === 'object' ? one.code.value : one.code;
  return {
    file,
    message: one.message,
    line: one.range.start.line + 1,
    column: one.range.start.character + 1,
    severity: SEVERITIES[one.severity] || 'note',
    code: code === undefined ? '' : String(code),
    source: one.source || '',
  };
}

module.exports = { below, editorState };
