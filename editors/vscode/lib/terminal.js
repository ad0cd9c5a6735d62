// The terminal, where a person decides. What approves is written there without Enter: the person presses it.
'use strict';

const vscode = require('vscode');
const { placeFor } = require('./roots');
const { enters, quoted } = require('./shell');

const PROMPT_MS = 1000;

/**
 * @param {string} root
 * @param {readonly string[]} words
 * @param {string} [then] what the person does, if it is more than pressing Enter
 */
function inTerminal(root, words, then) {
  const { program } = placeFor(root);
  const terminal = vscode.window.createTerminal({ name: ['ringi', ...words.slice(0, 2)].join(' '), cwd: root });
  terminal.show();
  const line = [program, ...words].map((word) => quoted(word)).join(' ');
  const isWhole = enters(words);
  void prompted(terminal).then(() => terminal.sendText(isWhole ? line : line + ' ', isWhole));
  if (isWhole) {
    return;
  }
  void vscode.window.showInformationMessage(then ?? vscode.l10n.t('Press Enter in the terminal to go on.'));
}

/**
 * Until the shell asks for a command: what is written sooner is shown twice. Not every shell says it.
 * @param {vscode.Terminal} terminal
 * @returns {Promise<void>}
 */
function prompted(terminal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(late);
      following.dispose();
      resolve();
    };
    const following = vscode.window.onDidChangeTerminalShellIntegration((event) => event.terminal === terminal && done());
    const late = setTimeout(done, PROMPT_MS);
  });
}

module.exports = { inTerminal };
