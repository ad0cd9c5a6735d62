// Values of ringi's documents in words; each is a key of the translations.
'use strict';

const RISKS = { high: 'HIGH', medium: 'medium', low: 'low' };
const KINDS = { new: 'new', changed: 'changed', deleted: 'deleted', renamed: 'renamed', run: 'command', call: 'call of a tool', other: 'no diff' };
const TRIGGERS = { error: 'made because of an error', user_request: 'asked for by a person', refactor: 'refactoring' };
const STATUSES = {
  proposed: 'sent back',
  approved: 'approved',
  aborted: 'interrupted',
  scheduled: 'being applied',
  executing: 'being applied',
  completed: 'applied',
  discarded: 'discarded',
  undone: 'undone',
};
const PHASES = {
  planning: 'waits to be started',
  executing: 'running',
  integrating: 'being put together',
  completed: 'done',
  needs_input: 'needs you',
  cancelled: 'cancelled',
  failed: 'failed',
};
const LEVELS = {
  signed: 'signed',
  replayed: 'signed, replayed on newer bytes',
  standing: 'standing approval',
  reviewed: 'reviewed on the forge',
  typed: 'typed, not proven here',
};

/**
 * A value that is not known is shown as it is.
 * @param {Record<string, string>} table
 * @param {string} value
 */
function term(table, value) {
  return Object.hasOwn(table, value) ? table[value] : value;
}

module.exports = { KINDS, LEVELS, PHASES, RISKS, STATUSES, TRIGGERS, term };
