// Comments on the lines of a plan. They go to its proposer with the person's answer; they never decide anything.
'use strict';

const vscode = require('vscode');
const { SCHEME, placeOf } = require('./plan');
const { uriOf } = require('./documents');
const { keyOf } = require('./reviews');

const t = vscode.l10n.t;

/**
 * @typedef {import('./reviews').Target} Target
 * @typedef {vscode.Comment & {thread?: vscode.CommentThread, saved?: string}} Said
 */

class Comments {
  /** @param {import('./reviews').Reviews} reviews */
  constructor(reviews) {
    this.reviews = reviews;
    this.controller = vscode.comments.createCommentController('ringi', 'Ringi');
    this.controller.options = { prompt: t('Say something about this line'), placeHolder: t('It goes to the proposer with your answer') };
    this.controller.commentingRangeProvider = { provideCommentingRanges: (document) => this.ranges(document) };
    /** @type {Map<string, vscode.CommentThread[]>} */
    this.threads = new Map();
    this.following = reviews.onDidChange((change) => this.show(change, change.review));
  }

  dispose() {
    this.following.dispose();
    this.controller.dispose();
  }

  /** @param {vscode.TextDocument} document */
  ranges(document) {
    const place = document.uri.scheme === SCHEME ? placeOf(document.uri.query) : undefined;
    const review = place && this.reviews.now(place);
    if (!place || place.side === 'about' || !review?.amendable) {
      return [];
    }
    const last = document.lineAt(document.lineCount - 1).text ? document.lineCount - 1 : document.lineCount - 2;
    return last < 0 ? [] : [new vscode.Range(0, 0, last, 0)];
  }

  /**
   * @param {Target} target
   * @param {import('./plan').Review} review
   */
  show(target, review) {
    this.threads.get(keyOf(target))?.forEach((thread) => thread.dispose());
    const threads = review.files.flatMap((file) =>
      (file.comments || []).map((said) => {
        const old = said.side === 'old';
        const uri = uriOf(target, (old && file.old_path) || file.path, old ? 'before' : 'after');
        const thread = this.controller.createCommentThread(uri, new vscode.Range(said.line - 1, 0, said.line - 1, 0), []);
        thread.canReply = false;
        thread.label = said.outdated ? t('To the proposer; the line says something else by now') : t('To the proposer');
        thread.contextValue = review.amendable ? 'amendable' : '';
        thread.comments = [comment(said, thread)];
        thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
        return thread;
      }),
    );
    this.threads.set(keyOf(target), threads);
  }

  /**
   * @param {vscode.CommentThread} thread
   * @param {string} text
   */
  async say(thread, text) {
    const at = placeAt(thread);
    if (!at || !text.trim()) {
      return;
    }
    const words = [...at.side, `--comment`, at.line, '-'];
    await this.reviews.amend(at.target, words, { title: t('Saving the comment…'), input: text, quiet: true });
    if (!this.threads.get(keyOf(at.target))?.includes(thread)) {
      thread.dispose();
    }
  }

  /** @param {vscode.CommentThread} thread */
  async remove(thread) {
    const at = placeAt(thread);
    if (at) {
      const words = [...at.side, `--remove-comment=${at.line}`];
      await this.reviews.amend(at.target, words, { title: t('Removing the comment…'), quiet: true });
    }
  }

  /** @param {Said} said */
  edit(said) {
    said.saved = String(said.body);
    this.become(said, vscode.CommentMode.Editing);
  }

  /** @param {Said} said */
  async save(said) {
    const text = String(said.body);
    this.become(said, vscode.CommentMode.Preview);
    if (said.thread) {
      await this.say(said.thread, text);
    }
  }

  /** @param {Said} said */
  cancel(said) {
    said.body = said.saved ?? said.body;
    this.become(said, vscode.CommentMode.Preview);
  }

  /**
   * @param {Said} said
   * @param {vscode.CommentMode} mode
   */
  become(said, mode) {
    said.mode = mode;
    if (said.thread) {
      said.thread.comments = [...said.thread.comments];
    }
  }
}

/**
 * The body is a string: nothing in it is interpreted.
 * @param {import('./plan').Said} said
 * @param {vscode.CommentThread} thread
 * @returns {Said}
 */
function comment(said, thread) {
  const at = new Date(said.at);
  const timestamp = Number.isNaN(at.getTime()) ? undefined : at;
  return { author: { name: said.who }, body: said.text, mode: vscode.CommentMode.Preview, contextValue: thread.contextValue, timestamp, thread };
}

/** @param {vscode.CommentThread} thread */
function placeAt(thread) {
  const place = placeOf(thread.uri.query);
  if (!place || !thread.range) {
    return undefined;
  }
  return {
    target: { root: place.root, plan: place.plan },
    line: `${thread.uri.path.slice(1)}:${thread.range.end.line + 1}`,
    side: place.side === 'before' ? ['--old'] : [],
  };
}

module.exports = { Comments };
