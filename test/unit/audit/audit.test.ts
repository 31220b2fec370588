import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Audit } from '../../../src/audit/audit.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

describe('the audit log', () => {
  it('records sixty refused keys a minute, and how many more there were', async () => {
    const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const clock = { at: 60_000, now: () => clock.at };
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const audit = new Audit({ store: store.sideStores.entries, write, instance: 'i', clock, log: silentLogger });
    for (let n = 0; n < 100; n++) audit.recordRefusal({ target: 'k', detail: `number ${n}` });
    assert.equal(lines.length, 60);
    clock.at += 60_000;
    audit.recordRefusal({ target: 'k', detail: 'the next' });
    assert.equal(lines.length, 62);
    assert.match(lines[60] ?? '', /40 more in the minute of 1970-01-01T00:01Z/);
    assert.match(lines[61] ?? '', /the next/);
    await store.close();
  });

  it('says how many more there were even if no other one comes', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const store = openSqliteStore('memory:', { sync: 'normal', log: silentLogger });
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const clock = { now: () => 60_000 };
    const audit = new Audit({ store: store.sideStores.entries, write, instance: 'i', clock, log: silentLogger });
    try {
      for (let n = 0; n < 100; n++) audit.recordRefusal({ target: 'k' });
      mock.timers.tick(60_000);
    } finally {
      mock.timers.reset();
    }
    assert.match(lines[60] ?? '', /40 more in the minute of 1970-01-01T00:01Z/);
    await store.close();
  });
});
