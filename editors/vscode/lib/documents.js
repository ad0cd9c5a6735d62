// The files of a plan, before and after, as documents. Saving the one after makes a new version of the plan.
'use strict';

const vscode = require('vscode');
const { SCHEME, aboutText, fileAt, placeOf, queryOf, textOf } = require('./plan');
const { RingiError } = require('./ringi');

/**
 * @typedef {import('./plan').Place} Place
 * @typedef {import('./plan').Side} Side
 */

/** @implements {vscode.FileSystemProvider} */
class Documents {
  /** @param {import('./reviews').Reviews} reviews */
  constructor(reviews) {
    this.reviews = reviews;
    /** @type {Map<string, {text: string, at: number}>} */
    this.times = new Map();
    /** @type {vscode.EventEmitter<vscode.FileChangeEvent[]>} */
    this.changed = new vscode.EventEmitter();
    this.onDidChangeFile = this.changed.event;
    this.following = reviews.onDidChange(() => this.tellOpen());
  }

  dispose() {
    this.following.dispose();
    this.changed.dispose();
  }

  /** Open documents read their text again if it is another one. */
  tellOpen() {
    const open = vscode.workspace.textDocuments.filter((one) => one.uri.scheme === SCHEME);
    this.changed.fire(open.map(({ uri }) => ({ type: vscode.FileChangeType.Changed, uri })));
  }

  watch() {
    return new vscode.Disposable(() => {});
  }

  /** @param {vscode.Uri} uri */
  async stat(uri) {
    const { text, place, editable } = await this.find(uri);
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: this.timeOf(uri, text),
      size: Buffer.byteLength(text),
      permissions: place.side === 'after' && editable ? undefined : vscode.FilePermission.Readonly,
    };
  }

  /** @param {vscode.Uri} uri */
  async readFile(uri) {
    return Buffer.from((await this.find(uri)).text);
  }

  /**
   * @param {vscode.Uri} uri
   * @param {Uint8Array} content
   */
  async writeFile(uri, content) {
    const { place, path, editable } = await this.find(uri);
    if (place.side !== 'after' || !editable) {
      throw vscode.FileSystemError.NoPermissions(uri);
    }
    const title = vscode.l10n.t('{0}: making a new version and checking it…', place.plan);
    try {
      await this.reviews.amend(place, [`--write=${path}=-`], { title, input: content });
    } catch (error) {
      throw error instanceof RingiError ? new Error([error.message, error.hint].filter(Boolean).join(' ')) : error;
    }
  }

  /**
   * @param {vscode.Uri} uri
   * @param {string} text
   */
  timeOf(uri, text) {
    const key = uri.toString();
    const known = this.times.get(key);
    if (known && known.text === text) {
      return known.at;
    }
    const at = Math.max(Date.now(), (known?.at ?? 0) + 1);
    this.times.set(key, { text, at });
    return at;
  }

  /** @param {vscode.Uri} uri */
  async find(uri) {
    const place = placeOf(uri.query);
    if (!place) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    const review = await this.reviews.get(place);
    if (place.side === 'about') {
      return { place, path: '', text: aboutText(review, vscode.l10n.t), editable: false };
    }
    const path = uri.path.slice(1);
    const file = fileAt(review, path);
    const text = textOf(file, place.side);
    if (!file || text === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return { place, path, text, editable: file.editable && review.amendable };
  }

  readDirectory() {
    return [];
  }

  createDirectory() {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete() {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename() {
    throw vscode.FileSystemError.NoPermissions();
  }
}

/**
 * @param {import('./reviews').Target} target
 * @param {string} path
 * @param {Side} side
 */
function uriOf(target, path, side) {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${path}`, query: queryOf({ ...target, side }) });
}

/**
 * Both sides of a file; undefined if it is not there on one.
 * @param {import('./reviews').Target} target
 * @param {import('./plan').PlanFile} file
 */
function sidesOf(target, file) {
  const before = textOf(file, 'before') === undefined ? undefined : uriOf(target, file.old_path || file.path, 'before');
  const after = textOf(file, 'after') === undefined ? undefined : uriOf(target, file.path, 'after');
  return { before, after };
}

module.exports = { Documents, sidesOf, uriOf };
