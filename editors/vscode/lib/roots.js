// What ringi says about each folder of the window. Each folder has a ringi of its own.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');
const { visible } = require('./plan');
const { RingiError, ask, requireRingi } = require('./ringi');

const APPLIED_SHOWN = 5;
const LISTED = 30;
const SETTLED_MS = 250;
// A file is exchanged with its spare one, and the watcher may name only the latter; of a new folder, only the folder.
const WATCHED = ['.agent', '.agent/config.yaml', '.agent/logs/plans/*', '.agent/planning-sessions/*', '.agent/runs/*/*/*'];

/**
 * @typedef {import('./plan').PlanRef} PlanRef
 * @typedef {{waiting: PlanRef[], sent_back: PlanRef[], sessions: any[], planning: any[], runs: any[],
 *   stale: Record<string, string[]>}} Home
 * @typedef {'ready' | 'missing' | 'old' | 'noWorkspace' | 'failed'} State
 * @typedef {{folder: vscode.WorkspaceFolder, top: string, state: State, message: string, home: Home,
 *   applied: PlanRef[]}} Root
 */

/** @type {Home} */
const NOTHING = { waiting: [], sent_back: [], sessions: [], planning: [], runs: [], stale: {} };

class Roots {
  constructor() {
    /** @type {Root[]} */
    this.all = [];
    this.loaded = false;
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
    /** @type {vscode.Disposable[]} */
    this.watchers = [];
    this.watched = '';
    /** @type {NodeJS.Timeout | undefined} */
    this.soon = undefined;
    this.rounds = Promise.resolve();
  }

  dispose() {
    clearTimeout(this.soon);
    this.changed.dispose();
    this.watchers.forEach((one) => one.dispose());
  }

  /** Many files are written at once; one look afterwards suffices. */
  refreshSoon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.refresh(), SETTLED_MS);
  }

  /** @returns {Promise<void>} */
  refresh() {
    const round = this.rounds.then(() => this.look());
    this.rounds = round.catch(() => undefined);
    return round;
  }

  async look() {
    const trusted = vscode.workspace.isTrusted;
    this.all = trusted ? await Promise.all(workspaces().map(([top, folder]) => looked(top, folder))) : [];
    this.loaded = true;
    this.watch();
    await vscode.commands.executeCommand('setContext', 'ringi.state', trusted ? stateOf(this.all) : 'untrusted');
    this.changed.fire(undefined);
  }

  watch() {
    const tops = this.all.map((root) => root.top).join('\n');
    if (tops === this.watched) {
      return;
    }
    this.watched = tops;
    this.watchers.forEach((one) => one.dispose());
    this.watchers = this.all.flatMap((root) =>
      WATCHED.map((pattern) => {
        const found = new vscode.RelativePattern(vscode.Uri.file(root.top), pattern);
        const watcher = vscode.workspace.createFileSystemWatcher(found);
        const soon = () => this.refreshSoon();
        return vscode.Disposable.from(watcher, watcher.onDidChange(soon), watcher.onDidCreate(soon), watcher.onDidDelete(soon));
      }),
    );
  }

  /**
   * The one that a file of the project is in.
   * @param {string} file
   */
  of(file) {
    const found = this.all.filter((root) => file === root.top || file.startsWith(root.top + path.sep));
    return found.sort((one, other) => other.top.length - one.top.length)[0];
  }

  /**
   * What tells a folder from the others of the window; undefined if there is only one.
   * @param {string} top
   */
  nameOf(top) {
    const root = this.all.length > 1 ? this.all.find((one) => one.top === top) : undefined;
    const others = this.all.filter((one) => one !== root);
    const named = (/** @type {Root} */ one) => one.folder.name;
    const within = (/** @type {Root} */ one) => `${path.basename(path.dirname(one.top))}/${one.folder.name}`;
    const own = root && [named, within].find((name) => !others.some((one) => name(one) === name(root)));
    return root && visible(own ? own(root) : top);
  }

  /** Those that ringi answered for. */
  ready() {
    return this.all.filter((root) => root.state === 'ready');
  }
}

/** In a folder that the person does not trust nothing is started, neither by us nor in the terminal. */
function requireTrust() {
  if (!vscode.workspace.isTrusted) {
    throw new RingiError('untrusted', vscode.l10n.t('ringi is not started in a folder that you do not trust.'));
  }
}

/** @param {string} top */
function placeFor(top) {
  requireTrust();
  const program = vscode.workspace.getConfiguration('ringi').get('path', '') || 'ringi';
  return { program, language: vscode.env.language.split('-')[0], folder: top };
}

/** The workspaces of ringi in the window: several of its folders may be in one. */
function workspaces() {
  /** @type {Map<string, vscode.WorkspaceFolder>} */
  const found = new Map();
  for (const folder of vscode.workspace.workspaceFolders || []) {
    const top = folder.uri.scheme === 'file' ? topOf(folder.uri.fsPath) : undefined;
    if (top !== undefined && !found.has(top)) {
      found.set(top, folder);
    }
  }
  return [...found];
}

/**
 * @param {string} top
 * @param {vscode.WorkspaceFolder} folder
 * @returns {Promise<Root>}
 */
async function looked(top, folder) {
  /** @type {Root} */
  const root = { folder, top, state: 'ready', message: '', home: NOTHING, applied: [] };
  try {
    await requireRingi(placeFor(top));
    const [home, listed] = await Promise.all([
      ask(placeFor(top), ['home']),
      ask(placeFor(top), ['list', '--limit', String(LISTED)]),
    ]);
    const done = listed.filter((/** @type {PlanRef} */ one) => one.status === 'completed' && !one.undone);
    return { ...root, home, applied: done.slice(0, APPLIED_SHOWN) };
  } catch (error) {
    if (!(error instanceof RingiError)) {
      throw error;
    }
    return { ...root, state: stateAfter(error), message: [error.message, error.hint].filter(Boolean).join('\n') };
  }
}

/**
 * @param {RingiError} error
 * @returns {State}
 */
function stateAfter(error) {
  if (error.kind === 'missing' || error.kind === 'old') {
    return error.kind;
  }
  return error.code === 'no_workspace' ? 'noWorkspace' : 'failed';
}

/**
 * For the words that are shown if the view is empty.
 * @param {Root[]} all
 */
function stateOf(all) {
  if (!all.length) {
    return 'noFolder';
  }
  return all.some((root) => root.state === 'ready') ? 'ready' : all[0].state;
}

/**
 * The folder of the workspace of ringi: the window may show a part of it.
 * @param {string} folder
 */
function topOf(folder) {
  for (let at = folder; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, '.agent')) || fs.existsSync(path.join(at, '.git'))) {
      return at;
    }
    if (path.dirname(at) === at) {
      return folder;
    }
  }
}

module.exports = { Roots, placeFor, requireTrust };
