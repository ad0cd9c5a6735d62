// The terminal, where a person decides. What approves is written there without Enter: the person presses it.
'use strict';

const vscode = require('vscode');
const { placeFor } = require('./roots');
const { enters, quoted } = require('./shell');

/**
 * @param {string} root
 * @param {readonly string[]} words
 */
function inTerminal(root, words) {
  const { program } = placeFor(root);
  const terminal = vscode.window.createTerminal({ name: ['ringi', ...words.slice(0, 2)].join(' '), cwd: root });
  terminal.show();
  const line = [program, ...words].map((word) => quoted(word)).join(' ');
  const isWhole = enters(words);
  terminal.sendText(isWhole ? line : `${line} `, isWhole);
}

module.exports = { inTerminal };
