// On hover of a line: the approval behind it. Only for lines that an approved plan brought.
'use strict';

const vscode = require('vscode');
const { RingiError, ask } = require('./ringi');
const { below } = require('./project');
const { placeFor } = require('./roots');
const { LEVELS, term } = require('./terms');

const PAUSE_MS = 300;
const MOST = 2000;
const t = vscode.l10n.t;

/** @implements {vscode.HoverProvider} */
class Why {
  /** @param {import('./roots').Roots} roots */
  constructor(roots) {
    this.roots = roots;
    /** @type {Map<string, Promise<any>>} */
    this.told = new Map();
    this.following = roots.onDidChange(() => this.told.clear());
  }

  dispose() {
    this.following.dispose();
  }

  /**
   * @param {vscode.TextDocument} document
   * @param {vscode.Position} position
   * @param {vscode.CancellationToken} token
   */
  async provideHover(document, position, token) {
    const wanted = vscode.workspace.getConfiguration('ringi').get('whyOnHover', true);
    const root = this.roots.of(document.uri.fsPath);
    if (!wanted || !root || root.state !== 'ready' || document.isDirty) {
      return undefined;
    }
    // Most hovers only pass by.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const file = below(root.top, document.uri.fsPath);
    if (token.isCancellationRequested || !file) {
      return undefined;
    }
    const told = await this.ask(root.top, file, position.line + 1, document.version);
    return told && told.approval && told.approval.plan ? new vscode.Hover(words(told), document.lineAt(position).range) : undefined;
  }

  /**
   * @param {string} root
   * @param {string} file
   * @param {number} line
   * @param {number} version
   */
  ask(root, file, line, version) {
    const key = JSON.stringify([root, file, line, version]);
    const known = this.told.get(key);
    if (known) {
      return known;
    }
    if (this.told.size > MOST) {
      this.told.clear();
    }
    const asked = ask(placeFor(root), ['why', `./${file}:${line}`]).catch((error) => {
      if (error instanceof RingiError) {
        return undefined; // not in git, or no proof: nothing to say
      }
      throw error;
    });
    this.told.set(key, asked);
    return asked;
  }
}

/** @param {any} told */
function words(told) {
  const { approval } = told;
  const lines = [
    t('Ringi: {0}', approval.plan.title || approval.plan.id),
    t('approved by {0} ({1}), {2}', approval.by, t(term(LEVELS, approval.level)), approval.at.slice(0, 10)),
  ];
  if (told.request) {
    lines.push(t('request: {0}', told.request));
  }
  if (told.commit) {
    lines.push(t('commit {0} {1}', told.commit.slice(0, 10), told.title));
  }
  const shown = new vscode.MarkdownString('', false);
  shown.isTrusted = false;
  shown.supportHtml = false;
  lines.forEach((line, index) => {
    shown.appendText(line);
    shown.appendMarkdown(index < lines.length - 1 ? '  \n' : '');
  });
  return shown;
}

module.exports = { Why };
