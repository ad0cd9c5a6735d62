// Nodes of the view that are not about a plan.
'use strict';

const vscode = require('vscode');
const { visible } = require('./plan');

const { None, Expanded } = vscode.TreeItemCollapsibleState;

/**
 * @typedef {{item: vscode.TreeItem, root?: string, plan?: string, path?: string, run?: string,
 *   command?: readonly string[], children?: () => Node[] | Promise<Node[]>}} Node
 */

/**
 * @template T
 * @param {string} label
 * @param {T[]} all
 * @param {(one: T) => Node} made
 * @returns {Node[]}
 */
function group(label, all, made, state = Expanded) {
  if (!all.length) {
    return [];
  }
  const item = new vscode.TreeItem(label, state);
  item.description = String(all.length);
  item.contextValue = 'group';
  return [{ item, children: () => all.map(made) }];
}

/**
 * @param {string} words
 * @param {string} icon
 * @returns {Node}
 */
function messageNode(words, icon) {
  const item = new vscode.TreeItem(visible(words), None);
  item.iconPath = new vscode.ThemeIcon(icon);
  item.tooltip = words.split('\n').map(visible).join('\n');
  return { item };
}

module.exports = { group, messageNode };
