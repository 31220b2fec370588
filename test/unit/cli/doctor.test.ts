import assert from 'node:assert/strict';
import { Redactor } from '../../../src/base/logger.ts';
import { findingLine } from '../../../src/cli/doctor/finding.ts';
import { spaceFinding } from '../../../src/cli/doctor/system.ts';

describe('research-gateway doctor', () => {
  it('notes little disk space, and reports too little as wrong', () => {
    const state = (mb: number) => spaceFinding('/data', mb * 1024 ** 2).state;
    assert.deepEqual([2000, 500, 50].map(state), ['ok', 'note', 'wrong']);
  });

  it('prints a finding on one line, without secrets or escape sequences', () => {
    const redactor = new Redactor();
    redactor.setSecrets(['sk-secret']);
    const line = findingLine(
      { state: 'wrong', about: 'provider x', detail: 'it said\n\u001b[2J sk-secret.', fix: 'set it' },
      redactor,
    );
    assert.equal(line, 'wrong provider x: it said [2J [redacted]. Fix: set it');
  });
});
