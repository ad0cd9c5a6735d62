// Runs in the view: why one has stopped, how it goes on, and its steps as ringi tells them.
'use strict';

const vscode = require('vscode');
const { messageNode } = require('./nodes');
const { nameOf, visible } = require('./plan');
const { RingiError, ask } = require('./ringi');
const { placeFor } = require('./roots');
const { plainWords } = require('./shell');
const { PHASES, term } = require('./terms');

const { None, Collapsed } = vscode.TreeItemCollapsibleState;
const t = vscode.l10n.t;
const ICONS = { done: 'pass', proposed: 'git-pull-request', waiting: 'circle-outline' };

/**
 * @typedef {import('./nodes').Node} Node
 * @typedef {import('./roots').Root} Root
 * @typedef {import('./plan').PlanRef} PlanRef
 */

/**
 * @param {Root} root
 * @param {any} run
 * @param {(ref: PlanRef) => Node} planNode
 * @returns {Node}
 */
function runNode(root, run, planNode) {
  const done = run.steps.filter((/** @type {any} */ step) => step.status === 'done').length;
  const item = new vscode.TreeItem(visible(String(run.instruction).split('\n')[0]), Collapsed);
  item.id = `${root.top} ${run.run_id}`;
  item.description = [t(term(PHASES, run.phase)), run.steps.length ? t('{0} of {1} steps done', done, run.steps.length) : ''].filter(Boolean).join(' · ');
  item.iconPath = new vscode.ThemeIcon(run.phase === 'failed' ? 'error' : run.stop ? 'debug-pause' : 'rocket');
  item.tooltip = visible(run.run_id);
  item.contextValue = 'run';
  return { item, root: root.top, run: run.run_id, command: nextOf(run), children: () => partsOf(root, run.run_id, planNode) };
}

/**
 * What goes on with it, as ringi says. It may be more than words that a terminal can take: then its status says it.
 * @param {any} run
 */
function nextOf(run) {
  const said = run.stop?.next_action || '';
  if (said.startsWith('ringi ')) {
    return plainWords(said)?.slice(1) ?? ['status', run.run_id];
  }
  return ['continue', run.run_id, ...(run.phase === 'failed' ? ['--retry'] : [])];
}

/**
 * @param {Root} root
 * @param {string} run
 * @param {(ref: PlanRef) => Node} planNode
 * @returns {Promise<Node[]>}
 */
async function partsOf(root, run, planNode) {
  try {
    const found = await ask(placeFor(root.top), ['status', run]);
    const { phase, why, steps } = found.shown;
    const made = (/** @type {any} */ step, /** @type {number} */ at) => stepNode(root, found, { ...step, status: found.steps[at].status }, planNode);
    return [messageNode(why || phase, 'info'), ...steps.map(made)];
  } catch (error) {
    if (error instanceof RingiError) {
      return [messageNode(error.message, 'error')];
    }
    throw error;
  }
}

/**
 * A step that waits is a plan like any other; one that is done shows what it changed.
 * @param {Root} root
 * @param {any} run
 * @param {any} step
 * @param {(ref: PlanRef) => Node} planNode
 * @returns {Node}
 */
function stepNode(root, run, step, planNode) {
  const plan = run.plans[step.step_id];
  const ref = root.home.waiting.find((one) => nameOf(one) === plan);
  if (ref) {
    const node = planNode(ref);
    node.item.label = `${step.step_id} ${node.item.label}`;
    return node;
  }
  const item = new vscode.TreeItem(`${step.step_id} ${visible(step.title)}`, None);
  item.description = step.facts.map(visible).join(' · ');
  item.tooltip = `${item.label}\n${item.description}`;
  item.iconPath = new vscode.ThemeIcon(Object.hasOwn(ICONS, step.status) ? term(ICONS, step.status) : run.working ? 'sync' : 'debug-pause');
  if (plan) {
    item.command = { command: 'ringi.open', title: t('Open all changes'), arguments: [{ root: root.top, plan }] };
  }
  return { item, root: root.top, plan };
}

module.exports = { runNode };
