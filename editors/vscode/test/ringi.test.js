'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { ALLOWED, RingiError, ask, askNewer, commandLine, isNewEnough, requireRingi } = require('../lib/ringi');
const { enters, plainWords, quoted } = require('../lib/shell');
const { editorState } = require('../lib/project');

/** @param {string} script */
function ringi(script) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ringi-test-'));
  const program = path.join(folder, 'ringi');
  fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { program, language: 'ja', folder };
}

test('what proposes, approves or carries out is never started', () => {
  for (const name of ['approve', 'apply', 'execute', 'undo', 'propose', 'grant', 'review', 'with', 'run', 'trust', 'state', '']) {
    assert.throws(() => commandLine([name, 'p1'], 'en'), /never starts/);
    assert.ok(!ALLOWED.includes(name));
  }
  assert.throws(() => commandLine(['state', 'capture'], 'en'), /never starts/);
  assert.deepEqual(commandLine(['home'], 'de'), ['--json', '--lang', 'en']);
  assert.deepEqual(commandLine(['state', 'push', '-'], 'ja'), ['--json', '--lang', 'ja', 'state', 'push', '-']);
});

test('the answer is the document, and input is handed on', async () => {
  const place = ringi('printf \'{"got": "%s", "words": "%s"}\' "$(cat)" "$*"');
  assert.deepEqual(await ask(place, ['show', 'p1'], { input: 'hello' }), { got: 'hello', words: '--json --lang ja show p1' });
});

test('a refusal has words and what to do next', async () => {
  const place = ringi('echo \'{"error": {"code": "not_found", "message": "There is no plan p9.", "hint": "ringi list"}}\'; exit 2');
  await assert.rejects(ask(place, ['show', 'p9']), (error) => error instanceof RingiError && error.code === 'not_found' && error.hint === 'ringi list');
  await assert.rejects(ask(ringi('echo broken >&2; exit 5'), ['home']), /broken/);
});

test('a ringi that is missing or too old is told apart', async () => {
  const kind = (/** @type {string} */ wanted) => (/** @type {any} */ error) => error.kind === wanted;
  await assert.rejects(requireRingi({ ...ringi(''), program: '/nowhere/ringi' }), kind('missing'));
  await assert.rejects(requireRingi(ringi('echo ringi 0.0.9')), kind('old'));
  await requireRingi(ringi('echo ringi 0.1.0'));
  await assert.rejects(askNewer(ringi('echo \'{"error": {"code": "usage", "message": "No such option"}}\''), ['show', 'p1']), kind('old'));
  assert.deepEqual(['ringi 1.0.0', 'ringi 0.10.0', 'something'].map(isNewEnough), [true, true, false]);
});

test('a start that was given up is ended', async () => {
  const stop = new AbortController();
  const asked = ask(ringi('exec sleep 60'), ['home'], { signal: stop.signal });
  stop.abort();
  await assert.rejects(asked, (error) => error instanceof RingiError && error.kind === 'cancelled');
});

test('Enter is sent only with what shows or asks', () => {
  const entered = [['review', 'p1'], ['undo', 'p1'], ['status', 'r1'], ['apply', 'p1']];
  const written = [['apply', 'p1', '--sign', 'key'], ['undo', 'p1', '--sign=key'], ['with', '--resume', 'p1'], ['init'], ['review', 'evil'], ['review', 'main..evil'], ['review'], ['propose'], ['doctor', '--repair']];
  assert.ok(entered.every(enters));
  assert.ok(!written.some(enters));
});

test('words of a command line stay words', () => {
  assert.equal(quoted('/home/me/.ssh/id_ed25519', 'linux'), '/home/me/.ssh/id_ed25519');
  assert.equal(quoted("it's; rm\n -rf $x", 'linux'), "'it'\\''s; rm -rf $x'");
  assert.equal(quoted('a "b"', 'win32'), '"a b"');
});

test('the project state has what the editor alone knows', () => {
  const at = { range: { start: { line: 4, character: 2 } }, message: 'no x', severity: 0, source: 'pyright', code: { value: 'E1' } };
  const state = editorState('/p', [['/p/src/a.py', [at]], ['/other/b.py', [at]]], ['/p/z.py', '/p/z.py', '/elsewhere']);
  assert.deepEqual(state, {
    version: '1.0',
    editor: 'vscode',
    diagnostics: [{ file: 'src/a.py', message: 'no x', line: 5, column: 3, severity: 'error', code: 'E1', source: 'pyright' }],
    unsaved: ['z.py'],
  });
});

test('only a line without quotes is taken apart', () => {
  assert.deepEqual(plainWords('ringi continue 2026 --allow a/b'), ['ringi', 'continue', '2026', '--allow', 'a/b']);
  assert.equal(plainWords("ringi continue 2026 --allow 'a b'"), undefined);
  assert.equal(plainWords('ringi status; rm x'), undefined);
});
