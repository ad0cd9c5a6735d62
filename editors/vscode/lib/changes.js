// All changes of a plan in one editor, kept up to date with the plan.
'use strict';

const vscode = require('vscode');
const { SCHEME, fileAt, isLabelOf, placeOf, shownFiles, statusOf, titleOf, visible } = require('./plan');
const { sidesOf, uriOf } = require('./documents');
const { keyOf } = require('./reviews');

/** VS Code reads every file before it shows the first one. */
const MOST = 1000;

/**
 * @typedef {import('./reviews').Target} Target
 * @typedef {Target & {title: string, files: string}} Shown
 */

class Changes {
  /**
   * @param {import('./roots').Roots} roots
   * @param {import('./reviews').Reviews} reviews
   */
  constructor(roots, reviews) {
    this.roots = roots;
    this.reviews = reviews;
    /** @type {Map<string, Shown>} */
    this.shown = new Map();
    /** @type {{target: Target, path: string, line: number, side: import('./plan').Side} | undefined} */
    this.last = undefined;
    this.following = vscode.Disposable.from(
      reviews.onDidChange(() => this.renew()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.renew()),
      vscode.window.onDidChangeTextEditorSelection((event) => this.remember(event.textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => editor && this.remember(editor)),
    );
  }

  dispose() {
    this.following.dispose();
  }

  /** @param {Target} target */
  async open(target) {
    const review = await this.reviews.get(target);
    const files = shownFiles(review);
    if (!files.length) {
      await this.about(target);
      return;
    }
    const title = this.titleOf(target, review);
    const open = this.tabOf(target);
    this.shown.set(keyOf(target), { root: target.root, plan: target.plan, title, files: namesOf(review) });
    const resources = files.slice(0, MOST).map((file) => {
      const { before, after } = sidesOf(target, file);
      return [after || before, before, after];
    });
    await vscode.commands.executeCommand('vscode.changes', title, resources);
    if (open) {
      await vscode.window.tabGroups.close(open, true);
    } else if (files.length > MOST) {
      const words = vscode.l10n.t('{0} has {1} files. The first {2} are open; all are below the plan in the view.', target.plan, files.length, MOST);
      void vscode.window.showWarningMessage(words);
    }
  }

  /**
   * @param {Target} target
   * @param {string} path
   */
  async openFile(target, path) {
    const review = await this.reviews.get(target);
    const file = fileAt(review, path);
    if (!file) {
      return;
    }
    const { before, after } = sidesOf(target, file);
    const title = `${target.plan} ${visible(file.path)}`;
    if (before && after) {
      await vscode.commands.executeCommand('vscode.diff', before, after, title);
    } else if (before || after) {
      await vscode.commands.executeCommand('vscode.changes', title, [[after || before, before, after]]);
    }
  }

  /** @param {Target} target */
  async about(target) {
    const uri = uriOf(target, `${target.plan}.txt`, 'about');
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  /** Shows a plan again whose title or files are others by now; not while the person looks elsewhere. */
  renew() {
    const active = vscode.window.tabGroups.activeTabGroup.activeTab;
    const shown = active && this.shownIn(active);
    const review = shown && this.reviews.now(shown);
    void vscode.commands.executeCommand('setContext', 'ringi.planShown', review && statusOf(review.plan));
    if (!shown || !review) {
      return;
    }
    if (this.titleOf(shown, review) !== shown.title || namesOf(review) !== shown.files) {
      void this.open(shown);
    }
  }

  /** @param {vscode.TextEditor} editor */
  remember(editor) {
    const place = editor.document.uri.scheme === SCHEME ? placeOf(editor.document.uri.query) : undefined;
    void vscode.commands.executeCommand('setContext', 'ringi.inPlan', place !== undefined && place.side !== 'about');
    if (place) {
      const { root, plan, side } = place;
      this.last = { target: { root, plan }, path: editor.document.uri.path.slice(1), line: editor.selection.active.line + 1, side };
    }
  }

  /**
   * The plan whose changes are in the active tab.
   * @returns {Target | undefined}
   */
  active() {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    const shown = tab && this.shownIn(tab);
    return shown && { root: shown.root, plan: shown.plan };
  }

  /**
   * The plan whose changes are all in a tab, by its title. VS Code names the documents of a tab only if one of
   * them has both sides; then they decide.
   * @param {vscode.Tab} tab
   */
  shownIn(tab) {
    const place = placeIn(tab);
    const titled = [...this.shown.values()].filter((one) => isLabelOf(tab.label, one.title));
    const found = place ? titled.filter((one) => keyOf(one) === keyOf(place)) : titled;
    return found.length === 1 ? found[0] : undefined;
  }

  /** @param {Target} target */
  tabOf(target) {
    const known = this.shown.get(keyOf(target));
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    return known && tabs.find((tab) => this.shownIn(tab) === known);
  }

  /**
   * With the folder, if there are several in the window.
   * @param {Target} target
   * @param {import('./plan').Review} review
   */
  titleOf(target, review) {
    return titleOf(review, vscode.l10n.t, this.roots.nameOf(target.root));
  }
}

/**
 * The type of a tab with several diffs has no name in the stable API, so it is looked at.
 * @param {vscode.Tab} tab
 */
function placeIn(tab) {
  const uri = /** @type {any} */ (tab.input)?.textDiffs?.[0]?.modified;
  return uri?.scheme === SCHEME ? placeOf(uri.query) : undefined;
}

/** @param {import('./plan').Review} review */
function namesOf(review) {
  return shownFiles(review)
    .map((file) => `${file.spec_id} ${file.old_path || ''} ${file.path}`)
    .join('\n');
}

module.exports = { Changes };
