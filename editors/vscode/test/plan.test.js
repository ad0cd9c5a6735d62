'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const plan = require('../lib/plan');

const t = (/** @type {string} */ message, /** @type {any[]} */ ...words) => message.replace(/\{(\d)\}/g, (_, at) => words[at]);
const file = (more = {}) => ({ spec_id: 's1', path: 'a.py', old_path: null, kind: 'write', action: 'write a.py', risk: 'low', reasons: [], added: 1, removed: 1, binary: false, fits: true, editable: true, before: 'a\n', after: 'b\n', hunks: [], comments: [], ...more });
const review = (more = {}) => ({ plan: { number: 3, title: 'Add --json', risk: 'low', version: 2, status: 'pending_review' }, explanation: '', headline: [], checks: [], commit: null, decide: { review: '', apply: '' }, amendable: true, files: [file()], ...more });

test('nothing hides in a title', () => {
  assert.equal(plan.visible('a\u202eb\x1b[31mc\nd\u200b'), 'a\\u202eb\\u001b[31mc d\\u200b');
  assert.equal(plan.visible('日本語 ok'), '日本語 ok');
});

test('a message of VS Code gets no link and no picture from a plan', () => {
  assert.equal(plan.withoutLinks('[now](command:ringi.apply) $(check)'), '[now] (command:ringi.apply) $ (check)');
});

test('the title says risk and checks', () => {
  assert.equal(plan.titleOf(review(), t), 'p3 Add --json · low · not checked');
  const checks = [{ command: 'make', exit_code: 1, passed: false, tail: '' }, { command: 'ls', exit_code: 0, passed: true, tail: '' }];
  assert.equal(plan.titleOf(review({ checks, plan: { number: 3, title: 'x'.repeat(99), risk: 'high', status: 'pending_review' } }), t), `p3 ${'x'.repeat(59)}… · HIGH · checks failed`);
  const applied = { number: 3, title: 'x', risk: 'low', status: 'completed' };
  assert.equal(plan.titleOf(review({ plan: applied }), t, 'app'), 'p3 x · low · applied · app');
  assert.equal(plan.titleOf(review({ plan: { ...applied, undone: true } }), t), 'p3 x · low · undone');
});

test('a hunk is found by a line of either side', () => {
  const hunks = [{ number: 1, old_start: 1, old_lines: 2, new_start: 1, new_lines: 3 }, { number: 2, old_start: 9, old_lines: 2, new_start: 9, new_lines: 0 }];
  const changed = file({ hunks });
  assert.equal(plan.hunkAt(changed, 3)?.number, 1);
  assert.equal(plan.hunkAt(changed, 4), undefined);
  assert.equal(plan.hunkAt(changed, 3, 'before'), undefined);
  assert.deepEqual([9, 10, 11].map((line) => plan.hunkAt(changed, line)?.number), [2, 2, undefined]);
  assert.equal(plan.linesOf(hunks[0], 'after'), '1–3');
});

test('an address of a file says where it is and comes back', () => {
  const place = { root: '/x y/ü', plan: 'p12', side: 'after' };
  assert.deepEqual(plan.placeOf(plan.queryOf(place)), place);
  for (const wrong of ['', '{}', '{"root":"/","plan":"p1;rm","side":"after"}', '{"root":"/","plan":"p1","side":"both"}']) {
    assert.equal(plan.placeOf(wrong), undefined);
  }
});

test('a file is found by its new name before its old one', () => {
  const moved = file({ spec_id: 's2', path: 'b.py', old_path: 'a.py' });
  const both = review({ files: [moved, file({ spec_id: 's3' })] });
  assert.equal(plan.fileAt(both, 'a.py')?.spec_id, 's3');
  assert.equal(plan.fileAt(review({ files: [moved] }), 'a.py')?.spec_id, 's2');
  assert.equal(plan.textOf(file({ before: null }), 'before'), undefined);
});

test('files without text are named with the reason, not shown', () => {
  const binary = file({ path: 'a.bin', action: 'write a.bin', before: undefined, after: undefined, why_no_text: 'binary' });
  const both = review({ files: [file(), binary] });
  assert.deepEqual(plan.shownFiles(both).map((one) => one.path), ['a.py']);
  assert.match(plan.aboutText(both, t), /Without a diff\n {2}write a\.bin: binary\n/);
});

test('a change plan says why it was made, for which state, and what depends on it', () => {
  const change = {
    snapshot_id: 'snap-1',
    basis: { trigger: 'error', relatedDiagnostics: [{ file: 'a.py', line: 2, message: 'undefined <b>x</b>' }] },
    scope: { targetFiles: ['a.py'], affectedFiles: ['b.py'] },
    superseded_at: null,
  };
  const text = plan.aboutText(review({ change, explanation: 'Because.\n\u202eboo' }), t);
  assert.ok(text.includes('made because of an error\n  a.py:2: undefined <b>x</b>\n  project state snap-1'), text);
  assert.ok(text.includes('Files that depend on it\n  b.py') && text.includes('\\u202eboo'), text);
});

test('a tab is known by its whole title', () => {
  assert.ok(plan.isLabelOf('p1 Same · low · app', 'p1 Same · low · app'));
  assert.ok(plan.isLabelOf('p1 Same · low · app (1 file)', 'p1 Same · low · app'));
  assert.ok(plan.isLabelOf('p1 Same · low · app (3 個のファイル)', 'p1 Same · low · app'));
  assert.ok(!plan.isLabelOf('p1 Same · low · app2 (1 file)', 'p1 Same · low · app'));
  assert.ok(!plan.isLabelOf('p1 Same · low · app (1 file) (1 file)', 'p1 Same · low · app'));
});
