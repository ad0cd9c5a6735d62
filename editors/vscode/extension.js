// A thin client of `ringi --json`: it shows plans and lets a person change them. Deciding happens in the terminal.
'use strict';

const vscode = require('vscode');
const { Changes } = require('./lib/changes');
const { Comments } = require('./lib/comments');
const { Decisions } = require('./lib/decisions');
const { Documents } = require('./lib/documents');
const { SCHEME } = require('./lib/plan');
const { Parts } = require('./lib/parts');
const { Reviews, tell } = require('./lib/reviews');
const { Roots, requireTrust } = require('./lib/roots');
const { State } = require('./lib/state');
const { Waiting } = require('./lib/waiting');
const { Why } = require('./lib/why');

const t = vscode.l10n.t;

/** @param {vscode.ExtensionContext} context */
function activate(context) {
  const roots = new Roots();
  const reviews = new Reviews();
  const documents = new Documents(reviews);
  const waiting = new Waiting(roots, reviews);
  const changes = new Changes(roots, reviews);
  const comments = new Comments(reviews);
  const why = new Why(roots);
  const parts = new Parts(roots, reviews, changes);
  const state = new State(roots);
  const decisions = new Decisions(reviews, parts, state);
  const view = vscode.window.createTreeView('ringi.waiting', { treeDataProvider: waiting, showCollapseAll: true });
  context.subscriptions.push(roots, reviews, documents, waiting, changes, comments, why, view);
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider(SCHEME, documents, { isCaseSensitive: true }),
    vscode.languages.registerCodeActionsProvider({ scheme: SCHEME }, parts, { providedCodeActionKinds: parts.kinds }),
    vscode.languages.registerHoverProvider({ scheme: 'file' }, why),
    vscode.workspace.onDidChangeWorkspaceFolders(() => roots.refreshSoon()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => roots.refreshSoon()),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('ringi') && roots.refreshSoon()),
    reviews.onDidChange((change) => change.before && roots.refreshSoon()),
    roots.onDidChange(() => {
      const count = roots.all.reduce((sum, root) => sum + root.home.waiting.length, 0);
      view.badge = count ? { value: count, tooltip: count === 1 ? t('1 plan waits for you') : t('{0} plans wait for you', count) } : undefined;
      roots.all.forEach((root) => void reviews.compare(root.top, [...root.home.waiting, ...root.home.sent_back, ...root.applied]));
    }),
  );
  /** @type {Record<string, (...given: any[]) => unknown>} */
  const commands = {
    'ringi.refresh': () => roots.refresh(),
    'ringi.open': async (given) => changes.open(await parts.plan(given)),
    'ringi.openFile': (node) => changes.openFile(node, node.path),
    'ringi.about': async (given) => changes.about(await parts.plan(given)),
    'ringi.dropFile': (given) => parts.dropFile(given),
    'ringi.dropHunk': (given) => parts.dropHunk(given),
    'ringi.editFile': (given) => parts.edit(given),
    'ringi.say': (reply) => comments.say(reply.thread, reply.text),
    'ringi.editComment': (said) => comments.edit(said),
    'ringi.saveComment': (said) => comments.save(said),
    'ringi.cancelComment': (said) => comments.cancel(said),
    'ringi.removeComment': (thread) => comments.remove(thread.thread || thread),
    'ringi.apply': (given) => decisions.apply(given),
    'ringi.review': (given) => decisions.review(given),
    'ringi.sendBack': (given) => decisions.sendBack(given),
    'ringi.discard': (given) => decisions.discard(given),
    'ringi.resume': (given) => decisions.resume(given),
    'ringi.undo': (given) => decisions.undo(given),
    'ringi.next': (node) => decisions.next(node),
    'ringi.status': (node) => decisions.status(node),
    'ringi.init': () => decisions.init(roots.all[0]?.top),
    'ringi.pushState': () => state.pushAndTell(),
    'ringi.changePlan': () => state.changePlan(),
  };
  for (const [name, run] of Object.entries(commands)) {
    const told = async (/** @type {any[]} */ ...given) => {
      try {
        requireTrust();
        await run(...given);
      } catch (error) {
        await tell(error);
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(name, told));
  }
  void roots.refresh();
}

module.exports = { activate };
