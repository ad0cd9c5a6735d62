// What the editor alone knows: the diagnostics of all language servers, and which files are not saved.
'use strict';

const vscode = require('vscode');
const { visible, withoutLinks } = require('./plan');
const { editorState } = require('./project');
const { ask } = require('./ringi');
const { placeFor } = require('./roots');
const { inTerminal } = require('./terminal');

const MOST_NAMED = 5;
const t = vscode.l10n.t;

class State {
  /** @param {import('./roots').Roots} roots */
  constructor(roots) {
    this.roots = roots;
  }

  /** @param {string} root */
  document(root) {
    const isFile = (/** @type {vscode.Uri} */ uri) => uri.scheme === 'file';
    const diagnostics = vscode.languages.getDiagnostics().filter(([uri]) => isFile(uri));
    const unsaved = vscode.workspace.textDocuments.filter((one) => one.isDirty && isFile(one.uri));
    return editorState(
      root,
      diagnostics.map(([uri, found]) => [uri.fsPath, found]),
      unsaved.map((one) => one.uri.fsPath),
    );
  }

  /** @param {string} root */
  push(root) {
    const input = JSON.stringify(this.document(root));
    return ask(placeFor(root), ['state', 'push', '-'], { input });
  }

  async pushAndTell() {
    for (const root of this.ready()) {
      if (await this.settled(root.top)) {
        const state = await this.push(root.top);
        const words = t('Ringi knows the project state: {0} diagnostics.', state.diagnostics.length);
        const gaps = state.gaps.map((/** @type {any} */ gap) => withoutLinks(gap.subject)).join(', ');
        void vscode.window.showInformationMessage(state.complete ? words : [words, t('Incomplete: {0}', gaps)].join(' '));
      }
    }
  }

  /** A change plan is bound to the project as it is now; the person proposes it in the terminal. */
  async changePlan() {
    const [root] = this.ready();
    if (root && (await this.settled(root.top))) {
      await this.push(root.top);
      inTerminal(root.top, ['propose', '--trigger', 'user_request', '--patch']);
    }
  }

  ready() {
    return this.roots.all.filter((root) => root.state === 'ready');
  }

  /**
   * Whether all files are saved, or only those named; asks the person to save them.
   * @param {string} root
   * @param {readonly string[]} [only]
   */
  async settled(root, only) {
    const { unsaved } = this.document(root);
    const open = only ? unsaved.filter((name) => only.includes(name)) : unsaved;
    if (!open.length) {
      return true;
    }
    const names = open.slice(0, MOST_NAMED).map(visible).join(', ');
    const more = open.length > MOST_NAMED ? t(' and {0} more', open.length - MOST_NAMED) : '';
    const save = t('Save and go on');
    const words = t('Not saved yet: {0}{1}. Ringi sees only what is saved.', withoutLinks(names), more);
    if ((await vscode.window.showWarningMessage(words, save)) !== save) {
      return false;
    }
    const documents = vscode.workspace.textDocuments.filter((one) => one.isDirty && one.uri.scheme === 'file');
    const saved = await Promise.all(documents.filter((one) => this.roots.of(one.uri.fsPath)?.top === root).map((one) => one.save()));
    return saved.every(Boolean);
  }
}

module.exports = { State };
