import assert from 'node:assert/strict';
import { createLogger, Redactor } from '../../../src/base/logger.ts';
import { startScreen } from '../../../src/cli/start-screen.ts';
import { terminalLog } from '../../../src/cli/terminal-log.ts';
import { configSchema } from '../../../src/config/schema.ts';

const screen = (change: object = {}, url = 'http://127.0.0.1:8080') =>
  startScreen({
    url,
    file: '/etc/gateway.yaml',
    config: configSchema.parse({
      providers: { demo: { builtin: 'demo' } },
      models: { deep: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
      keys: [{ id: 'local', secret: 'sk-local' }],
      ...change,
    }),
  });

describe('startScreen', () => {
  it('shows the console, the API, the key, the models and where runs are stored', () => {
    assert.equal(
      screen(),
      `
The gateway runs. Ctrl-C stops it.

  Console    http://127.0.0.1:8080
  API        http://127.0.0.1:8080/v1
  Key        sk-local (accepted from this machine only; set GATEWAY_API_KEY to use another)
  Models     deep
  Runs       in ./data (SQLite) for 7 days
  Settings   /etc/gateway.yaml

`,
    );
  });

  it('names configured keys, but no secrets and no store password', () => {
    const keys = [
      { id: 'team-a', secret: 'sk-canary-a' },
      { id: 'team-b', secret: 'sk-canary-b' },
    ];
    const shown = screen({ keys, store: { url: 'redis://me:canary@redis:6379/0', retention_hours: 1.5 } });
    assert.match(shown, /Key {8}one of those configured for team-a, team-b\n/);
    assert.match(shown, /Runs {7}in redis:\/\/redis:6379\/0 for 1\.5 hours\n/);
    assert.doesNotMatch(shown, /canary/);
  });

  it('shows the console on the admin port if there is one', () => {
    const shown = screen({ server: { admin_port: 9090 } });
    assert.match(shown, /Console {4}http:\/\/127\.0\.0\.1:9090\n {2}API {8}http:\/\/127\.0\.0\.1:8080\/v1\n/);
  });

  it('shortens a long list of models, and drops control characters', () => {
    const names = Array.from({ length: 9 }, (_, n) => [
      `m${n}`,
      { kind: 'proxy', routes: [{ provider: 'demo', model: 'x' }] },
    ]);
    assert.match(screen({ models: Object.fromEntries(names) }), /Models {5}m0, m1, m2, m3, m4, m5 and 3 more\n/);
    assert.ok(!screen({}, 'http://x\u001b[31m').includes('\u001b'));
  });
});

describe('terminalLog', () => {
  it('writes one readable line per entry, without secrets, and omits successful requests', () => {
    let shown = '';
    const redactor = new Redactor();
    redactor.setSecrets(['sk-canary']);
    const log = createLogger({ redactor, destination: terminalLog((text) => (shown += text)) });
    log.info({ method: 'GET', path: '/v1/models', status: 200 }, 'request');
    log.info(
      { req: 'x', ip: '::1', method: 'GET', path: '/v1/models', status: 401, error: 'invalid_api_key' },
      'request',
    );
    log.warn({ provider: 'a', reason: 'sk-canary\n\u001b[2Jtext' }, 'failed');
    log.info({ status: 'completed', tokens: 12 }, 'run ended');
    const lines = shown
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''));
    assert.deepEqual(lines, [
      'request method=GET path=/v1/models status=401 error=invalid_api_key',
      'warning: failed provider=a reason=[redacted] [2Jtext',
      'run ended status=completed tokens=12',
    ]);
  });

  it('cuts no character in half', () => {
    let shown = '';
    const log = createLogger({ destination: terminalLog((text) => (shown += text)) });
    log.warn({ reason: `${'a'.repeat(299)}\u{1f600}` }, 'failed');
    assert.ok(shown.isWellFormed());
  });
});
