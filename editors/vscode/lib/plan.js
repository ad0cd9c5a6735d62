// What is known about a plan, as ringi tells it (`show --as review`). No part of VS Code is needed here.
'use strict';

const { RISKS, STATUSES, TRIGGERS, term } = require('./terms');

/**
 * @typedef {{id: string, number: number, title: string, status: string, version: number, proposer: string,
 *   files: number, added: number, removed: number, risk: string, undone?: boolean, superseded?: boolean,
 *   step?: {run_id: string, step_id: string}}} PlanRef
 * @typedef {{number: number, old_start: number, old_lines: number, new_start: number, new_lines: number}} Hunk
 * @typedef {{line: number, side: 'old' | 'new', text: string, who: string, at: string, outdated?: boolean}} Said
 * @typedef {{spec_id: string, path: string, old_path: string | null, kind: string, action: string, risk: string,
 *   reasons: string[], notes?: string[], added: number, removed: number, binary: boolean, fits: boolean,
 *   conflicts?: number, editable: boolean, before?: string | null, after?: string | null,
 *   why_no_text?: string, hunks?: Hunk[], comments?: Said[]}} PlanFile
 * @typedef {{command: string, exit_code: number, passed: boolean, tail: string}} Check
 * @typedef {{plan: PlanRef, specs_sha256: string, explanation: string, change?: any, headline: string[],
 *   checks: Check[], commit: string | null, decide: {review: string, apply: string, sign?: string[]},
 *   amendable: boolean, files: PlanFile[]}} Review
 * @typedef {'before' | 'after' | 'about'} Side
 * @typedef {{root: string, plan: string, side: Side}} Place
 */

const SCHEME = 'ringi-plan';
const LONGEST_TITLE = 60;
/** @type {WeakMap<Review, Map<string, PlanFile>>} */
const INDEXES = new WeakMap();
// Controls, and marks that reorder or hide what follows.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/**
 * One line in which nothing hides.
 * @param {string} text
 */
function visible(text) {
  return text.replace(/\r?\n|\t/g, ' ').replace(UNSEEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * For messages, whose `[words](command:…)` VS Code makes a link, and menus, whose `$(name)` it makes a picture.
 * @param {string} text
 */
function withoutLinks(text) {
  return visible(text).replace(/\](?=\()/g, '] ').replace(/\$(?=\()/g, '$ ');
}

/**
 * @param {string} text
 * @param {number} most
 */
function cut(text, most) {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text;
}

/** @param {{number: number}} plan */
function nameOf(plan) {
  return `p${plan.number}`;
}

/** @param {PlanRef} plan */
function statusOf(plan) {
  return plan.undone ? 'undone' : plan.status;
}

/** @param {string} risk */
function riskOf(risk) {
  return term(RISKS, risk);
}

/** @param {{added: number, removed: number}} of */
function sizeOf(of) {
  return `+${of.added} −${of.removed}`;
}

/**
 * Of the tab that shows all changes of a plan.
 * @param {Review} review
 * @param {(message: string, ...words: string[]) => string} t
 * @param {string} [folder]
 */
function titleOf(review, t, folder) {
  const { plan, checks } = review;
  const failed = checks.filter((check) => !check.passed).length;
  const tests = failed ? t('checks failed') : checks.length ? t('checks passed') : t('not checked');
  const status = statusOf(plan);
  const now = status === 'pending_review' ? tests : t(term(STATUSES, status));
  return [`${nameOf(plan)} ${cut(visible(plan.title), LONGEST_TITLE)}`, t(riskOf(plan.risk)), now, ...(folder ? [folder] : [])].join(' · ');
}

/**
 * Whether a tab is labelled with this title: VS Code adds the number of files in brackets.
 * @param {string} label
 * @param {string} title
 */
function isLabelOf(label, title) {
  return label.startsWith(title) && /^( [(（][^()（）]*[)）])?$/.test(label.slice(title.length));
}

/**
 * Files that a diff editor can show.
 * @param {Review} review
 */
function shownFiles(review) {
  return review.files.filter((file) => file.path && (file.before !== undefined || file.after !== undefined));
}

/**
 * The file by its name after the change, or the one that had the name before.
 * @param {Review} review
 * @param {string} path
 * @returns {PlanFile | undefined}
 */
function fileAt(review, path) {
  let found = INDEXES.get(review);
  if (!found) {
    const old = review.files.flatMap((file) => (file.old_path ? [[file.old_path, file]] : []));
    const own = review.files.map((file) => [file.path, file]);
    INDEXES.set(review, (found = new Map(/** @type {any} */ ([...old, ...own]))));
  }
  return found.get(path);
}

/**
 * The text of one side; undefined if there is no such file on it.
 * @param {PlanFile | undefined} file
 * @param {Side} side
 * @returns {string | undefined}
 */
function textOf(file, side) {
  const text = file && (side === 'before' ? file.before : file.after);
  return typeof text === 'string' ? text : undefined;
}

/**
 * The hunk at a line, counted from 1. A deletion has no lines after: it is where they were.
 * @param {PlanFile} file
 * @param {number} line
 * @param {Side} [side]
 * @returns {Hunk | undefined}
 */
function hunkAt(file, line, side = 'after') {
  return (file.hunks || []).find((hunk) => {
    const start = side === 'before' ? hunk.old_start : hunk.new_start;
    const lines = side === 'before' ? hunk.old_lines : hunk.new_lines;
    return lines ? start <= line && line < start + lines : line === start || line === start + 1;
  });
}

/**
 * As 3–8.
 * @param {Hunk} hunk
 * @param {Side} side
 */
function linesOf(hunk, side) {
  const start = side === 'before' ? hunk.old_start : hunk.new_start;
  const lines = side === 'before' ? hunk.old_lines : hunk.new_lines;
  return lines > 1 ? `${start}–${start + lines - 1}` : String(start);
}

/**
 * @param {Place} place
 * @returns {string}
 */
function queryOf(place) {
  return JSON.stringify({ root: place.root, plan: place.plan, side: place.side });
}

/**
 * @param {string} query
 * @returns {Place | undefined}
 */
function placeOf(query) {
  try {
    const { root, plan, side } = JSON.parse(query);
    const known = typeof root === 'string' && /^p\d{1,9}$/.test(plan);
    return known && ['before', 'after', 'about'].includes(side) ? { root, plan, side } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Everything about a plan that is no diff, as plain text.
 * @param {Review} review
 * @param {(message: string, ...words: string[]) => string} t
 */
function aboutText(review, t) {
  const { plan, change } = review;
  const lines = [`${nameOf(plan)}  ${visible(plan.title)}`, ...review.headline.map((line) => `  ${visible(line)}`)];
  if (review.commit) {
    lines.push(`  ${t('Commit: {0}', visible(review.commit))}`);
  }
  if (review.explanation) {
    lines.push('', t('What the proposer says'), ...paragraph(review.explanation));
  }
  if (change) {
    lines.push(...changeLines(change, t));
  }
  for (const check of review.checks) {
    const how = check.passed ? t('passed') : t('failed with code {0}', String(check.exit_code));
    lines.push('', `${visible(check.command)}: ${how}`, ...paragraph(check.tail));
  }
  const others = review.files.filter((file) => !shownFiles({ ...review, files: [file] }).length);
  if (others.length) {
    lines.push('', t('Without a diff'), ...others.map((file) => `  ${withoutDiff(file)}`));
  }
  return `${lines.join('\n')}\n`;
}

/** @param {PlanFile} file */
function withoutDiff(file) {
  return visible([file.action || file.path, file.why_no_text].filter(Boolean).join(': '));
}

/**
 * What makes it a change plan: why it was made, for which state of the project, what depends on it.
 * @param {any} change
 * @param {(message: string, ...words: string[]) => string} t
 */
function changeLines(change, t) {
  const { trigger, relatedDiagnostics } = change.basis;
  const { affectedFiles } = change.scope;
  const said = relatedDiagnostics.map((/** @type {any} */ one) => [one.file, one.line, ` ${one.message}`].filter(Boolean).join(':'));
  const lines = ['', t('Basis'), `  ${t(term(TRIGGERS, trigger))}`, ...said.map((/** @type {string} */ one) => `  ${visible(one)}`)];
  lines.push(`  ${t('project state {0}', visible(change.snapshot_id))}`);
  if (change.superseded_at) {
    lines.push(`  ${t('The project changed since: it can no longer be applied.')}`);
  }
  lines.push('', t('Files that depend on it'));
  lines.push(...(affectedFiles.length ? affectedFiles : [t('none')]).map((/** @type {string} */ one) => `  ${visible(one)}`));
  if (change.unknown_users) {
    lines.push(`  ${t('and perhaps others: {0} files could not be analysed', String(change.unknown_users.count))}`);
  }
  return lines;
}

/** @param {string} text */
function paragraph(text) {
  return text.split(/\r?\n/).map((line) => `  ${visible(line)}`.trimEnd());
}

module.exports = {
  SCHEME,
  aboutText,
  cut,
  fileAt,
  hunkAt,
  isLabelOf,
  linesOf,
  nameOf,
  placeOf,
  queryOf,
  riskOf,
  shownFiles,
  sizeOf,
  statusOf,
  textOf,
  titleOf,
  visible,
  withoutDiff,
  withoutLinks,
};
