// The view: what waits for the person, who is at work, what was applied.
'use strict';

const vscode = require('vscode');
const { group, messageNode } = require('./nodes');
const { nameOf, riskOf, sizeOf, shownFiles, statusOf, visible, withoutDiff } = require('./plan');
const { RingiError } = require('./ringi');
const { runNode } = require('./runs');
const { KINDS, term } = require('./terms');

const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
const t = vscode.l10n.t;

/**
 * @typedef {import('./roots').Root} Root
 * @typedef {import('./plan').PlanRef} PlanRef
 * @typedef {import('./nodes').Node} Node
 */

/** @implements {vscode.TreeDataProvider<Node>} */
class Waiting {
  /**
   * @param {import('./roots').Roots} roots
   * @param {import('./reviews').Reviews} reviews
   */
  constructor(roots, reviews) {
    this.roots = roots;
    this.reviews = reviews;
    this.changed = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changed.event;
    const again = () => this.changed.fire(undefined);
    this.following = vscode.Disposable.from(roots.onDidChange(again), reviews.onDidChange(again));
  }

  dispose() {
    this.following.dispose();
    this.changed.dispose();
  }

  /** @param {Node} node */
  getTreeItem(node) {
    return node.item;
  }

  /** @param {Node} [node] */
  async getChildren(node) {
    if (node) {
      return node.children ? node.children() : [];
    }
    if (!this.roots.loaded) {
      await this.roots.refresh();
    }
    const several = this.roots.all.length > 1;
    return this.roots.all.flatMap((root) => {
      const nodes = this.nodesOf(root, several);
      return several && (nodes.length || root.state === 'ready') ? [rootNode(root, this.roots.nameOf(root.top) || root.top, nodes)] : nodes;
    });
  }

  /**
   * @param {Root} root
   * @param {boolean} several
   * @returns {Node[]}
   */
  nodesOf(root, several) {
    if (root.state !== 'ready') {
      // A single folder is explained in the empty view, with buttons.
      return several || root.state === 'failed' ? [messageNode(root.message, 'error')] : [];
    }
    const { home } = root;
    // Steps are decided with their run, as in the terminal.
    const runs = new Set(home.runs.map((one) => one.run_id));
    const alone = home.waiting.filter((one) => !(one.step && runs.has(one.step.run_id)));
    const decided = alone.filter((one) => one.status !== 'pending_review');
    const waiting = alone.filter((one) => one.status === 'pending_review');
    return [
      ...group(t('To decide'), waiting, (one) => this.planNode(root, one)),
      ...group(t('Approved or interrupted'), decided, (one) => this.planNode(root, one)),
      ...group(t('Sent back'), home.sent_back, (one) => this.planNode(root, one)),
      ...group(t('Being planned'), home.planning, (one) => planningNode(root, one)),
      ...group(t('Runs'), home.runs, (one) => runNode(root, one, (ref) => this.planNode(root, ref))),
      ...group(t('At work'), home.sessions, (one) => sessionNode(root, one)),
      ...group(t('Applied'), root.applied, (one) => this.planNode(root, one), Collapsed),
    ];
  }

  /**
   * @param {Root} root
   * @param {PlanRef} ref
   * @returns {Node}
   */
  planNode(root, ref) {
    const plan = nameOf(ref);
    const stale = root.home.stale[plan] || [];
    const item = new vscode.TreeItem(`${plan} ${visible(ref.title)}`, Collapsed);
    item.id = `${root.top} ${plan}`;
    item.description = [t(riskOf(ref.risk)), filesOf(ref.files), sizeOf(ref), visible(ref.proposer)].join(' · ');
    item.iconPath = planIcon(ref);
    item.contextValue = `plan ${statusOf(ref)}`;
    item.tooltip = [`${plan} ${visible(ref.title)}`, t('version {0}', ref.version), ...staleWords(stale)].join('\n');
    item.accessibilityInformation = { label: `${item.label}, ${item.description}` };
    const target = { root: root.top, plan };
    item.command = { command: 'ringi.open', title: t('Open all changes'), arguments: [target] };
    return { item, ...target, children: () => this.partsOf(target) };
  }

  /**
   * What to know before deciding, then the files.
   * @param {{root: string, plan: string}} target
   * @returns {Promise<Node[]>}
   */
  async partsOf(target) {
    try {
      const review = await this.reviews.get(target);
      const shown = new Set(shownFiles(review));
      const about = new vscode.TreeItem(review.change ? t('Why, basis and affected files') : t('What the proposer says'), None);
      about.iconPath = new vscode.ThemeIcon('note');
      about.command = { command: 'ringi.about', title: t('About this plan'), arguments: [target] };
      const heading = review.headline.map((line) => messageNode(line, 'info'));
      const hasAbout = review.change || review.explanation || review.files.length > shown.size;
      return [
        ...heading,
        ...(hasAbout ? [{ item: about, ...target }] : []),
        ...review.files.map((file) => fileNode(target, file, shown.has(file), review.amendable)),
      ];
    } catch (error) {
      if (error instanceof RingiError) {
        const old = t('This ringi is too old for the extension. Install a newer one.');
        return [messageNode(error.kind === 'old' ? old : error.message, 'error')];
      }
      throw error;
    }
  }
}

/**
 * @param {Root} root
 * @param {string} name
 * @param {Node[]} nodes
 * @returns {Node}
 */
function rootNode(root, name, nodes) {
  const item = new vscode.TreeItem(name, Expanded);
  item.id = `root ${root.top}`;
  item.iconPath = vscode.ThemeIcon.Folder;
  item.contextValue = 'root';
  item.tooltip = visible(root.top);
  return { item, root: root.top, children: () => (nodes.length ? nodes : [messageNode(t('Nothing waits for you.'), 'check')]) };
}

/**
 * @param {{root: string, plan: string}} target
 * @param {import('./plan').PlanFile} file
 * @param {boolean} shown
 * @param {boolean} amendable
 * @returns {Node}
 */
function fileNode(target, file, shown, amendable) {
  const item = new vscode.TreeItem(shown ? visible(file.path) : withoutDiff(file), None);
  const words = [...(file.risk === 'low' ? [] : [t(riskOf(file.risk))]), t(term(KINDS, kindOf(file))), ...(shown ? [sizeOf(file)] : [])];
  if (file.conflicts) {
    words.push(t('conflict'));
  }
  item.description = words.join(' · ');
  item.iconPath = new vscode.ThemeIcon(iconOf(file));
  item.tooltip = [file.path || file.action, ...file.reasons, ...(file.notes || [])].map(visible).join('\n');
  item.contextValue = ['file', ...(amendable ? ['amendable'] : []), ...(file.editable ? ['editable'] : [])].join(' ');
  const node = { item, ...target, path: file.path };
  if (shown) {
    item.command = { command: 'ringi.openFile', title: t('Open the change'), arguments: [node] };
  }
  return node;
}

/** @param {import('./plan').PlanFile} file */
function kindOf(file) {
  if (file.old_path) {
    return 'renamed';
  }
  if (file.before === null) {
    return 'new';
  }
  if (file.after === null) {
    return 'deleted';
  }
  const isText = file.before !== undefined || file.binary;
  return isText ? 'changed' : file.kind in KINDS ? file.kind : 'other';
}

/** @param {import('./plan').PlanFile} file */
function iconOf(file) {
  const icons = { renamed: 'diff-renamed', new: 'diff-added', deleted: 'diff-removed', changed: 'diff-modified', run: 'terminal' };
  return /** @type {Record<string, string>} */ (icons)[kindOf(file)] || 'file';
}

/**
 * @param {Root} root
 * @param {any} session
 * @returns {Node}
 */
function sessionNode(root, session) {
  const item = new vscode.TreeItem(visible(session.agent), None);
  item.description = session.running
    ? t('working in a copy since {0}', session.since)
    : t('its work is not a plan yet');
  item.iconPath = new vscode.ThemeIcon(session.running ? 'sync' : 'warning');
  item.contextValue = session.running ? 'session' : 'session unplanned';
  return { item, root: root.top, command: session.running ? undefined : ['doctor', '--repair'] };
}

/**
 * @param {Root} root
 * @param {any} session
 * @returns {Node}
 */
function planningNode(root, session) {
  const item = new vscode.TreeItem(visible(session.title), None);
  item.description = t('{0} of {1} questions, {2} of {3} decisions', session.questionsDone, session.questions, session.decisionsDone, session.decisions);
  item.iconPath = new vscode.ThemeIcon('comment-discussion');
  item.tooltip = [session.title, item.description, session.errorMessage || ''].filter(Boolean).map(visible).join('\n');
  item.contextValue = 'planning';
  return { item, root: root.top, command: ['plan', '--resume', session.sessionId] };
}

/** @param {number} count */
function filesOf(count) {
  return count === 1 ? t('1 file') : t('{0} files', count);
}

/** @param {string[]} stale */
function staleWords(stale) {
  return stale.length ? [t('changed since the proposer saw them: {0}', visible(stale.slice(0, 3).join(', ')))] : [];
}

/** @param {PlanRef} ref */
function planIcon(ref) {
  if (ref.status === 'completed') {
    return new vscode.ThemeIcon('pass');
  }
  if (ref.risk === 'high') {
    return new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));
  }
  return new vscode.ThemeIcon('git-pull-request');
}

module.exports = { Waiting };
