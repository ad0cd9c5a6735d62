// What the editor alone knows: the diagnostics of all language servers, and which files are not saved.
'use strict';

const vscode = require('vscode');
const { visible, withoutLinks } = require('./plan');
const { below, editorState } = require('./project');
const { RingiError, ask } = require('./ringi');
const { placeFor } = require('./roots');
const { inTerminal } = require('./terminal');
const { TRIGGERS } = require('./terms');

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
    const ready = this.ready().map((root) => ({ label: withoutLinks(root.folder.name), description: visible(root.top), top: root.top }));
    const { top } = ready.length > 1 ? await picked(ready, t('In which folder?')) : ready[0];
    if (!(await this.settled(top))) {
      return;
    }
    const reason = await this.reason(top);
    const patch = await diffBelow(top);
    await this.push(top);
    inTerminal(top, ['propose', ...reason, `--patch=${patch}`], t('Press Enter in the terminal to propose the change plan.'));
  }

  /** @param {string} root */
  async reason(root) {
    const errors = this.document(root).diagnostics.filter((one) => one.severity !== 'note');
    const triggers = Object.entries(TRIGGERS).filter(([name]) => name !== 'error' || errors.length);
    const reasons = triggers.map(([trigger, label]) => ({ label: t(label), trigger }));
    const { trigger } = await picked(reasons, t('Why is it needed?'));
    if (trigger !== 'error') {
      return [`--trigger=${trigger}`];
    }
    const found = errors.map((one) => ({
      label: withoutLinks(one.message),
      description: visible(`${one.file}:${one.line}`),
      about: `${one.file}:${one.line}:${visible(one.message)}`,
    }));
    const { about } = await picked(found, t('Which error is it about?'));
    return [`--trigger=${trigger}`, `--diagnostic=${about}`];
  }

  /** Those that can be asked; says why if there is none. */
  ready() {
    const ready = this.roots.ready();
    if (!ready.length) {
      const [first] = this.roots.all;
      const kind = first?.state === 'missing' || first?.state === 'old' ? first.state : 'refused';
      throw new RingiError(kind, first?.message || t('Open a folder first.'));
    }
    return ready;
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
    const named = documents.filter((one) => open.includes(below(root, one.uri.fsPath) || ''));
    const saved = await Promise.all(named.map((one) => one.save()));
    return saved.every(Boolean);
  }
}

/**
 * @template {vscode.QuickPickItem} T
 * @param {T[]} items
 * @param {string} placeHolder
 */
async function picked(items, placeHolder) {
  const found = await vscode.window.showQuickPick(items, { placeHolder, ignoreFocusOut: true });
  if (!found) {
    throw new RingiError('cancelled', '');
  }
  return found;
}

/** @param {string} root */
async function diffBelow(root) {
  const filters = { [t('Diff')]: ['diff', 'patch'], [t('All files')]: ['*'] };
  const title = t('The diff to propose, as git diff writes it');
  const [found] = (await vscode.window.showOpenDialog({ defaultUri: vscode.Uri.file(root), filters, title, openLabel: t('Propose') })) || [];
  if (!found) {
    throw new RingiError('cancelled', '');
  }
  return below(root, found.fsPath) || found.fsPath;
}

module.exports = { State };
