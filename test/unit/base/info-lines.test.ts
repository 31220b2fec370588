import assert from 'node:assert/strict';
import { createLogger, infoLines, Redactor } from '../../../src/base/logger.ts';

/** The lines of two ways to say the same, without their times. */
function said(level: string): { own: string[]; general: string[] } {
  const lines: string[] = [];
  const redactor = new Redactor();
  redactor.setSecrets(['sk-very-secret']);
  const log = createLogger({ level, redactor, destination: { write: (line: string) => void lines.push(line) } });
  const fields = { req: 'a"b\\c\n', ip: undefined, status: 200, ms: 1.5, left: true, path: '/v1/sk-very-secret' };
  infoLines(log, 'request')(fields);
  const own = lines.splice(0).map(withoutTime);
  log.info(fields, 'request');
  return { own, general: lines.map(withoutTime) };
}

function withoutTime(line: string): string {
  assert.match(JSON.parse(line).time, /^\d{4}-\d{2}-\d{2}T/);
  return line.replace(/"time":"[^"]+"/, '"time":""');
}

describe('lines of level info', () => {
  it('are what the general logger writes, and as free of secrets', () => {
    const { own, general } = said('info');
    assert.deepEqual(own, general);
    assert.match(own[0] ?? '', /\[redacted\]/);
  });

  it('are left out where the logger leaves them out', () => {
    assert.deepEqual(said('warn'), { own: [], general: [] });
  });
});
