import assert from 'node:assert/strict';
import { Redactor } from '../../../src/base/logger.ts';
import { findingLine } from '../../../src/cli/doctor/finding.ts';
import { nodeFinding, spaceFinding } from '../../../src/cli/doctor/system.ts';

describe('research-gateway doctor', () => {
  it('reports a Node older than package.json requires', () => {
    const states = (needed: string, versions: string[]) =>
      versions.map((version) => nodeFinding(version, needed).state);
    assert.deepEqual(states('>=26', ['26.0.0', '27.1.0', '25.9.9', '9.0.0']), ['ok', 'ok', 'wrong', 'wrong']);
    assert.deepEqual(states('>=22.12', ['22.12.0', '22.11.9', '22.13.1', '24.0.0']), ['ok', 'wrong', 'ok', 'ok']);
    assert.match(nodeFinding('25.0.0', '>=26').fix ?? '', /install Node 26/);
  });

  it('notes little disk space, and reports too little as wrong', () => {
    const state = (mb: number) => spaceFinding('/data', mb * 1024 ** 2).state;
    assert.deepEqual([2000, 500, 50].map(state), ['ok', 'note', 'wrong']);
  });

  it('prints a finding on one line, without secrets or escape sequences', () => {
    const redactor = new Redactor();
    redactor.setSecrets(['sk-secret']);
    const line = findingLine(
      { state: 'wrong', about: 'provider x', detail: 'it said\n\u001b[2J sk-secret', fix: 'set it' },
      redactor,
    );
    assert.equal(line, 'wrong provider x: it said [2J [redacted]. Fix: set it');
  });
});
