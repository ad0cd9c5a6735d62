// Parts of a plan: finding what a command is about, dropping a hunk or a file, editing.
'use strict';

const vscode = require('vscode');
const { SCHEME, fileAt, hunkAt, linesOf, nameOf, placeOf, riskOf, visible, withoutLinks } = require('./plan');
const { sidesOf } = require('./documents');
const { RingiError } = require('./ringi');
const { PLAN } = require('./shell');

const t = vscode.l10n.t;

/**
 * @typedef {import('./reviews').Target} Target
 * @typedef {import('./plan').Side} Side
 * @typedef {{target: Target, path: string, line: number, side: Side}} Spot
 */

/** @implements {vscode.CodeActionProvider} */
class Parts {
  /**
   * @param {import('./roots').Roots} roots
   * @param {import('./reviews').Reviews} reviews
   * @param {import('./changes').Changes} changes
   */
  constructor(roots, reviews, changes) {
    this.roots = roots;
    this.reviews = reviews;
    this.changes = changes;
    this.kinds = [vscode.CodeActionKind.QuickFix];
  }

  /**
   * The plan that was clicked, is shown, or is chosen now.
   * @param {any} given
   * @returns {Promise<Target>}
   */
  async plan(given) {
    if (given && this.roots.all.some((root) => root.top === given.root) && PLAN.test(given.plan)) {
      return { root: given.root, plan: given.plan };
    }
    const editor = vscode.window.activeTextEditor;
    const place = editor && editor.document.uri.scheme === SCHEME ? placeOf(editor.document.uri.query) : undefined;
    return this.changes.active() || (place && { root: place.root, plan: place.plan }) || this.choose();
  }

  /** @returns {Promise<Target>} */
  async choose() {
    const items = this.roots.all.flatMap((root) =>
      root.home.waiting.map((ref) => ({
        label: `${nameOf(ref)} ${withoutLinks(ref.title)}`,
        description: [t(riskOf(ref.risk)), this.roots.nameOf(root.top)].filter(Boolean).join(' · '),
        target: { root: root.top, plan: nameOf(ref) },
      })),
    );
    if (!items.length) {
      throw new RingiError('refused', t('Nothing waits for you.'));
    }
    const found = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder: t('Which plan?') });
    if (!found) {
      throw new RingiError('cancelled', '');
    }
    return found.target;
  }

  /**
   * The line that a command is about: clicked in the margin, or where the cursor was last.
   * @param {any} given
   * @returns {Spot}
   */
  spot(given) {
    const place = given?.uri?.scheme === SCHEME ? placeOf(given.uri.query) : undefined;
    if (place && typeof given.lineNumber === 'number') {
      const { root, plan, side } = place;
      return { target: { root, plan }, path: given.uri.path.slice(1), line: given.lineNumber, side };
    }
    if (given && given.target) {
      return given;
    }
    if (!this.changes.last) {
      throw new RingiError('refused', t('Put the cursor on a changed line first.'));
    }
    return this.changes.last;
  }

  /** @param {any} given */
  async dropHunk(given) {
    const { target, path, line, side } = this.spot(given);
    const file = fileAt(await this.reviews.get(target), path);
    const hunk = file && hunkAt(file, line, side);
    if (!file || !hunk) {
      throw new RingiError('refused', t('Line {0} of {1} is not changed by {2}.', line, visible(path), target.plan));
    }
    await this.save(target);
    const title = t('{0}: dropping a hunk (lines {1}), then checking…', target.plan, linesOf(hunk, side));
    await this.reviews.amend(target, [`--drop=${file.path}#${hunk.number}`], { title });
  }

  /** @param {any} given */
  async dropFile(given) {
    const fromTree = given && typeof given.path === 'string' && typeof given.plan === 'string';
    const { target, path } = fromTree ? { target: { root: given.root, plan: given.plan }, path: given.path } : this.spot(given);
    const file = fileAt(await this.reviews.get(target), path);
    if (file) {
      const title = t('{0}: dropping {1}, then checking…', target.plan, withoutLinks(file.path));
      await this.reviews.amend(target, [`--drop=${file.path}#`], { title });
    }
  }

  /**
   * What was typed is a version of its own, before the next one.
   * @param {Target} target
   */
  async save(target) {
    for (const document of vscode.workspace.textDocuments) {
      const place = document.isDirty && document.uri.scheme === SCHEME ? placeOf(document.uri.query) : undefined;
      if (place && place.plan === target.plan && place.root === target.root && !(await document.save())) {
        throw new RingiError('cancelled', '');
      }
    }
  }

  /**
   * Opens the file as it will be, to be edited; saving makes a new version.
   * @param {any} given
   */
  async edit(given) {
    const fromTree = given && typeof given.path === 'string' && typeof given.plan === 'string';
    const spot = fromTree ? { target: given, path: given.path, line: 0 } : this.spot(given);
    const file = fileAt(await this.reviews.get(spot.target), spot.path);
    const { after } = file ? sidesOf({ root: spot.target.root, plan: spot.target.plan }, file) : { after: undefined };
    if (!file || !after) {
      throw new RingiError('refused', t('{0} has no text to edit.', visible(spot.path)));
    }
    const line = (spot.line || file.hunks?.[0]?.new_start || 1) - 1;
    const selection = new vscode.Range(line, 0, line, 0);
    await vscode.window.showTextDocument(after, { preview: false, selection });
  }

  /**
   * @param {vscode.TextDocument} document
   * @param {vscode.Range} range
   */
  async provideCodeActions(document, range) {
    const place = placeOf(document.uri.query);
    if (!place || place.side === 'about') {
      return [];
    }
    const { root, plan, side } = place;
    const path = document.uri.path.slice(1);
    const review = await this.reviews.get(place).catch(() => undefined);
    const file = review && fileAt(review, path);
    if (!review?.amendable || !file) {
      return [];
    }
    const spot = { target: { root, plan }, path, line: range.start.line + 1, side };
    const hunk = file.editable ? hunkAt(file, spot.line, side) : undefined;
    return [
      ...(hunk ? [action(t('Drop this hunk from {0} (lines {1})', plan, linesOf(hunk, side)), 'ringi.dropHunk', spot)] : []),
      action(t('Drop the whole file from {0}', plan), 'ringi.dropFile', spot),
    ];
  }
}

/**
 * @param {string} title
 * @param {string} command
 * @param {Spot} spot
 */
function action(title, command, spot) {
  const made = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  made.command = { title, command, arguments: [spot] };
  return made;
}

module.exports = { Parts };
