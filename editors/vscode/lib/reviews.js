// The plans that are open in the editor: read once, and again when they change.
'use strict';

const vscode = require('vscode');
const { RingiError, askNewer } = require('./ringi');
const { nameOf, riskOf, withoutLinks } = require('./plan');
const { placeFor } = require('./roots');

const SHOWN_MS = 8000;

/**
 * @typedef {import('./plan').Review} Review
 * @typedef {{root: string, plan: string}} Target
 * @typedef {Target & {review: Review, before: Review | undefined}} Change
 */

class Reviews {
  constructor() {
    /** @type {Map<string, Promise<Review>>} */
    this.asked = new Map();
    /** @type {Map<string, Change>} */
    this.known = new Map();
    /** @type {vscode.EventEmitter<Change>} */
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
  }

  dispose() {
    this.changed.dispose();
  }

  /**
   * @param {Target} target
   * @returns {Promise<Review>}
   */
  get(target) {
    const key = keyOf(target);
    const found = this.asked.get(key);
    if (found) {
      return found;
    }
    const asked = askNewer(placeFor(target.root), ['show', target.plan, '--as', 'review']).then((review) => {
      this.take(target, review);
      return review;
    });
    this.asked.set(key, asked);
    asked.catch(() => this.asked.delete(key));
    return asked;
  }

  /**
   * As far as it was read.
   * @param {Target} target
   */
  now(target) {
    return this.known.get(keyOf(target))?.review;
  }

  /**
   * @param {Target} target
   * @param {Review} review
   */
  take(target, review) {
    const key = keyOf(target);
    const change = { root: target.root, plan: target.plan, review, before: this.known.get(key)?.review };
    this.known.set(key, change);
    this.asked.set(key, Promise.resolve(review));
    this.changed.fire(change);
  }

  /**
   * Reads again what differs from these lines of the lists.
   * @param {string} root
   * @param {import('./plan').PlanRef[]} refs
   */
  async compare(root, refs) {
    for (const { review, plan } of [...this.known.values()].filter((one) => one.root === root)) {
      const ref = refs.find((one) => nameOf(one) === plan);
      if (!ref || isOther(ref, review.plan)) {
        this.asked.delete(keyOf({ root, plan }));
        await this.get({ root, plan }).catch(() => undefined);
      }
    }
  }

  /**
   * Changes the plan as the person wants; what comes back is shown.
   * @param {Target} target
   * @param {string[]} words
   * @param {{title: string, input?: string | Uint8Array, quiet?: boolean}} options
   */
  async amend(target, words, { title, input, quiet }) {
    const before = await this.get(target);
    const argv = ['amend', target.plan, '--seen', String(before.plan.version), ...words];
    const location = quiet ? vscode.ProgressLocation.Window : vscode.ProgressLocation.Notification;
    try {
      const review = await vscode.window.withProgress({ location, title, cancellable: !quiet }, (_, token) => {
        const stop = new AbortController();
        token.onCancellationRequested(() => stop.abort());
        return askNewer(placeFor(target.root), argv, { input, signal: stop.signal });
      });
      this.take(target, review);
      if (review.plan.version !== before.plan.version) {
        tellVersion(review, before);
      }
    } catch (error) {
      // Somebody else was faster, or it was interrupted: show what is.
      this.asked.delete(keyOf(target));
      void this.get(target).catch(() => undefined);
      throw error;
    }
  }
}

/**
 * @param {import('./plan').PlanRef} one
 * @param {import('./plan').PlanRef} other
 */
function isOther(one, other) {
  return one.version !== other.version || one.status !== other.status || one.undone !== other.undone;
}

/**
 * @param {Review} review
 * @param {Review} before
 */
function tellVersion(review, before) {
  const t = vscode.l10n.t;
  const { plan, checks } = review;
  const failed = checks.filter((check) => !check.passed);
  const words = [t('{0} is now version {1}', nameOf(plan), plan.version), t('risk: {0}', t(riskOf(plan.risk)))];
  if (failed.length) {
    const names = failed.map((check) => withoutLinks(check.command)).join(', ');
    void vscode.window.showWarningMessage([...words, t('failed: {0}', names)].join(' · '));
    return;
  }
  if (checks.length) {
    words.push(t('checks passed'));
  } else if (before.checks.length) {
    words.push(t('not checked'));
  }
  vscode.window.setStatusBarMessage(`$(check) ${words.join(' · ')}`, SHOWN_MS);
}

/** @param {Target} target */
function keyOf(target) {
  return `${target.plan} ${target.root}`;
}

/**
 * Says why something was not done.
 * @param {unknown} error
 */
async function tell(error) {
  const t = vscode.l10n.t;
  if (!(error instanceof RingiError)) {
    throw error;
  }
  if (error.kind === 'cancelled') {
    return;
  }
  if (error.kind === 'untrusted') {
    const manage = t('Manage Trust');
    if ((await vscode.window.showWarningMessage(error.message, manage)) === manage) {
      await vscode.commands.executeCommand('workbench.trust.manage');
    }
    return;
  }
  if (error.kind === 'missing' || error.kind === 'old') {
    const words =
      error.kind === 'missing'
        ? t('ringi was not found. Install it, or say where it is.')
        : t('This ringi is too old for the extension. Install a newer one.');
    const open = t('Set the path');
    if ((await vscode.window.showErrorMessage(words, open)) === open) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'ringi.path');
    }
    return;
  }
  await vscode.window.showErrorMessage([error.message, error.hint].filter(Boolean).map(withoutLinks).join(' '));
}

module.exports = { Reviews, keyOf, tell };
