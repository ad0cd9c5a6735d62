// What a person decides. Sending back and discarding are done at once; approving and undoing happen in the terminal.
'use strict';

const vscode = require('vscode');
const { visible } = require('./plan');
const { ask } = require('./ringi');
const { placeFor } = require('./roots');
const { inTerminal } = require('./terminal');

const t = vscode.l10n.t;

class Decisions {
  /**
   * @param {import('./reviews').Reviews} reviews
   * @param {import('./parts').Parts} parts
   * @param {import('./state').State} state
   */
  constructor(reviews, parts, state) {
    this.reviews = reviews;
    this.parts = parts;
    this.state = state;
  }

  /** @param {any} given */
  async apply(given) {
    const target = await this.parts.plan(given);
    await this.parts.save(target);
    const review = await this.reviews.get(target);
    const touched = review.files.flatMap((file) => [file.path, file.old_path || '']);
    if (!(await this.state.settled(target.root, touched))) {
      return;
    }
    const [key] = review.decide.sign || [];
    if (key === undefined) {
      inTerminal(target.root, ['review', target.plan]);
      return;
    }
    const words = ['apply', target.plan, '--seen', String(review.plan.version), '--sign', key];
    inTerminal(target.root, words, t('Press Enter in the terminal to sign and apply {0}.', target.plan));
  }

  /** @param {any} given */
  async review(given) {
    const target = await this.parts.plan(given);
    await this.parts.save(target);
    inTerminal(target.root, ['review', target.plan]);
  }

  /** @param {any} given */
  async sendBack(given) {
    const target = await this.parts.plan(given);
    const prompt = t('What should the proposer of {0} change? Your comments on lines go along.', target.plan);
    const feedback = await vscode.window.showInputBox({ prompt, ignoreFocusOut: true });
    if (!feedback?.trim()) {
      return;
    }
    await ask(placeFor(target.root), ['reject', target.plan, '--feedback', '-'], { input: feedback });
    void vscode.window.showInformationMessage(t('{0} sent back with your feedback.', target.plan));
    await vscode.commands.executeCommand('ringi.refresh');
  }

  /** @param {any} given */
  async discard(given) {
    const target = await this.parts.plan(given);
    const review = await this.reviews.get(target).catch(() => undefined);
    const yes = t('Discard');
    const detail = t('It is never carried out and no list shows it any more. Your files stay as they are.');
    const name = [target.plan, visible(review?.plan.title || '')].join(' ').trim();
    if ((await vscode.window.showWarningMessage(t('Discard {0}?', name), { modal: true, detail }, yes)) === yes) {
      await ask(placeFor(target.root), ['discard', target.plan]);
      await vscode.commands.executeCommand('ringi.refresh');
    }
  }

  /** @param {any} given */
  async resume(given) {
    const target = await this.parts.plan(given);
    inTerminal(target.root, ['with', '--resume', target.plan]);
  }

  /** @param {any} given */
  async undo(given) {
    const target = await this.parts.plan(given);
    inTerminal(target.root, ['undo', target.plan]);
  }

  /** @param {any} node */
  next(node) {
    if (this.isOurs(node) && Array.isArray(node.command)) {
      inTerminal(node.root, node.command.map(String));
    }
  }

  /** @param {any} node */
  status(node) {
    if (this.isOurs(node) && typeof node.run === 'string') {
      inTerminal(node.root, ['status', node.run]);
    }
  }

  /**
   * Commands can be given by anyone.
   * @param {any} node
   */
  isOurs(node) {
    return this.parts.roots.all.some((root) => root.top === node?.root);
  }

  /** @param {string | undefined} root */
  init(root) {
    if (root) {
      inTerminal(root, ['init']);
    }
  }
}

module.exports = { Decisions };
