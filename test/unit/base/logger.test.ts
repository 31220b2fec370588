import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createLogger } from '../../../src/base/logger.ts';

describe('a log', () => {
  afterEach(() => mock.restoreAll());

  it('writes fifty warnings of one kind in ten seconds, then how many were left out', () => {
    let now = 0;
    mock.method(performance, 'now', () => now);
    const lines: { msg: string; lines?: number; like?: string }[] = [];
    const log = createLogger({ destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
    const count = (start: string) => lines.filter(({ msg }) => msg.startsWith(start)).length;
    for (let run = 0; run < 200; run++) {
      log.warn({ run }, 'append failed, repeating it');
      log.error(`provider p failed: request ${run}`);
      log.info({ run }, 'request');
    }
    log.warn('another kind');
    log.fatal('append failed, repeating it');
    assert.deepEqual(['append', 'provider', 'request', 'another'].map(count), [51, 50, 200, 1]);
    now = 10_000;
    log.warn('append failed, repeating it');
    const told = lines.flatMap(({ msg, lines, like }) => (msg === 'lines were left out' ? [[like, lines]] : []));
    assert.deepEqual(told, [
      ['append failed, repeating it', 150],
      ['provider p failed', 150],
    ]);
    assert.equal(count('append'), 52);
  });
});
