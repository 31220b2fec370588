import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { StartGateway } from '../../../src/cli/running-gateway.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { startFakeGateway } from './fake-gateway.ts';
import { RecordedTerminal } from './recorded-terminal.ts';

const PROJECT_ROOT = new URL('../../../', import.meta.url).pathname;

interface Started {
  config: GatewayConfig;
  reloaded: GatewayConfig[];
  closed: boolean;
}

async function run(
  args: string[],
  options: { terminal?: RecordedTerminal; variables?: Record<string, string>; startGateway?: StartGateway } = {},
) {
  const terminal = options.terminal ?? new RecordedTerminal();
  const code = await runCommandLine(args, {
    environment: readEnvironment(options.variables ?? {}),
    terminal,
    startGateway: options.startGateway ?? (() => Promise.reject(new Error('not to be started'))),
    projectRoot: PROJECT_ROOT,
    version: '1.2.3',
  });
  return { code, ...terminal.written };
}

/** Records the gateways that are started, without starting any. */
function recordingStart(url: string): { start: StartGateway; started: Started[] } {
  const started: Started[] = [];
  const start: StartGateway = async ({ config }) => {
    const record: Started = { config, reloaded: [], closed: false };
    started.push(record);
    const close = async () => {
      record.closed = true;
    };
    return {
      url,
      close,
      reload: (fresh) => void record.reloaded.push(fresh),
      [Symbol.asyncDispose]: close,
    };
  };
  return { start, started };
}

describe('the command line', () => {
  for (const [args, said] of [
    [['serv'], /^error: unknown command 'serv'; did you mean `serve`\?/],
    [['sevre', '--config', 'x.yaml'], /did you mean `serve`\?/],
    [['key', 'new'], /did you mean `keys`\?/],
    [['frobnicate'], /unknown command 'frobnicate'; there are serve, ask, .*keys/],
    [['What is tea?'], /research-gateway ask "/],
    [['keys', 'nwe'], /Did you mean new\?/],
    [['ask', '--base-url', 'nope', 'x'], /^error: nope is not an http or https URL; see --base-url/],
    [['probe', 'demo', '--config', 'config/gateway.yaml'], /^error: demo is the built-in demo model/],
    [['config', 'check', 'nope.yaml'], /^nope\.yaml: there is no such file/m],
    [['config', 'check', '--config', 'nope.yaml'], /^nope\.yaml: there is no such file/m],
  ] as const) {
    it(`explains the mistake in: ${args.join(' ')}`, async () => {
      const { code, err } = await run([...args]);
      assert.equal(code, 2);
      assert.match(err, said);
    });
  }

  it('prints its version and help with exit code 0', async () => {
    assert.deepEqual(await run(['--version']), { code: 0, out: '1.2.3\n', err: '' });
    const help = await run(['--help']);
    assert.equal(help.code, 0);
    for (const command of ['serve', 'ask', 'demo', 'config', 'keys'])
      assert.match(help.out, new RegExp(`  ${command}`));
  });

  it('exits with code 2 for invalid arguments', async () => {
    for (const args of [['nonsense'], ['ask', 'q', '--nope'], ['ask', 'q', '--effort', 'huge'], ['config']]) {
      assert.equal((await run(args)).code, 2, args.join(' '));
    }
  });

  it('keys new prints a key with the hash that the configuration takes', async () => {
    const { out } = await run(['keys', 'new', '--id', 'team-x']);
    const key = /key: +(sk-[\w-]{43})\n/.exec(out)?.[1] ?? '';
    const hash = createHash('sha256').update(key).digest('hex');
    assert.match(out, new RegExp(`- id: "team-x"\n    secret_sha256: ${hash}\n`));
    assert.notEqual((await run(['keys', 'new'])).out, out);
  });

  it('config check summarises a valid file and lists the problems of an invalid one', async () => {
    const valid = await run(['config', 'check', join(PROJECT_ROOT, 'config/gateway.yaml')]);
    assert.equal(valid.code, 0);
    assert.match(valid.out, /is valid: 1 provider, 3 models, 1 key/);
    const folder = await mkdtemp(join(tmpdir(), 'check-'));
    try {
      const file = join(folder, 'bad.yaml');
      await writeFile(file, 'server: { prot: 1 }\nproviders: {}\nmodels: {}\nkeys: []\n');
      const invalid = await run(['config', 'check', file]);
      assert.equal(invalid.code, 2);
      assert.match(
        invalid.err,
        /bad\.yaml:1:11 server\.prot: .*`port`\?\n.*bad\.yaml:4:1 keys: needs at least one key/,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  const unusable = {
    'redis://:secret@a,b': /redis-cluster/,
    'redis-sentinel://:secret@s1': /name of the master/,
    'redis-cluster://:secret@a/1': /database 0/,
    'redis://:secret@a/x': /number of a database/,
    'redis://:secret@a:b:c': /host:port/,
    'redis://:secret@a:70000': /from 1 to 65535/,
    'redis://:secret@a/0%': /% as %25/,
    'redis://u:p@secret@a/0': /@ as %40/,
    'redis://u:secret/p@a/0': /@ as %40/,
    'redis://u:12/secret@a/0': /@ as %40/,
    'redis://u:secret%@a/0': /% as %25/,
    'redis://u:secret%ff@a/0': /% as %25/,
    'redis://:secret@': /@ as %40/,
    'file:a\0secret': /must be file:/,
  };
  const refusals: [string, object, RegExp][] = [
    ...Object.entries(unusable).map(([url, said]): [string, object, RegExp] => ['store.url', { store: { url } }, said]),
    ['server.host', { server: { host: '[::1]' } }, /or ::1/],
    ['server.host', { server: { host: 'http://secret' } }, /must be an address/],
    [
      'providers.up.dialect',
      { providers: { up: { base_url: 'http://u.example/v1', dialect: 'text_tool' } } },
      /one of: generic, .*`text_tools`\?/,
    ],
  ];
  it('config check and serve refuse the same settings in the same words, without quoting secrets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'check-'));
    try {
      const file = join(folder, 'bad.yaml');
      for (const [path, wrong, said] of refusals) {
        const whole = {
          providers: { up: { builtin: 'demo' } },
          models: { m: { kind: 'proxy', routes: [{ provider: 'up', model: 'm' }] } },
          keys: [{ id: 'k', secret: 'sk-abcdefghijkl' }],
          ...wrong,
        };
        await writeFile(file, JSON.stringify(whole));
        const checked = await run(['config', 'check', file]);
        const started = await run(['serve', '--config', file]);
        assert.deepEqual(checked, started, JSON.stringify(wrong));
        assert.equal(checked.code, 2, JSON.stringify(wrong));
        assert.match(checked.err, new RegExp(`${path}: `));
        assert.match(checked.err, said, JSON.stringify(wrong));
        assert.doesNotMatch(checked.err, /secret/, JSON.stringify(wrong));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('ask takes base URL and key from the environment', async () => {
    await using gateway = await startFakeGateway();
    const { code } = await run(['ask', 'Why?'], { variables: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEY: 'k' } });
    assert.deepEqual([code, gateway.requests.length], [0, 3]);
  });
});

describe('research-gateway serve', () => {
  const CONFIG = `
server: { port: 0 }
store: { url: "memory:" }
providers: { demo: { builtin: demo } }
models: { one: { kind: proxy, routes: [ { provider: demo, model: demo } ] } }
keys: [ { id: a, secret: sk-a } ]
logging: { level: silent }
`;
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'serve-'));
    file = join(folder, 'gateway.yaml');
    await writeFile(file, CONFIG);
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is the default command: runs until a signal, then closes the gateway', async () => {
    const { start, started } = recordingStart('http://x');
    const terminal = new RecordedTerminal();
    const startGateway: StartGateway = async (options) => {
      const gateway = await start(options);
      queueMicrotask(() => terminal.interrupt());
      return gateway;
    };
    const { code } = await run([], { terminal, startGateway, variables: { GATEWAY_CONFIG: file } });
    assert.deepEqual([code, started.length, started[0]?.closed], [0, 1, true]);
  });

  it('prints the address in a terminal, and no JSON log lines there', async () => {
    await writeFile(file, CONFIG.replace('silent', 'info'));
    const { start } = recordingStart('http://127.0.0.1:4321');
    const terminal = new RecordedTerminal({ live: true });
    const served = run(['serve', '--config', file], { terminal, startGateway: start });
    await terminal.shown(/The gateway runs/);
    terminal.interrupt();
    const { code, err } = await served;
    assert.equal(code, 0);
    assert.match(err, /Console +http:\/\/127\.0\.0\.1:4321\n/);
    assert.doesNotMatch(err, /\{"level"|sk-a/);
  });

  it('formats the log for reading if the terminal has a separate output for it', async () => {
    await writeFile(file, CONFIG.replace('silent', 'info'));
    const { start } = recordingStart('http://127.0.0.1:4321');
    let logged = '';
    const log = (text: string) => {
      logged += text;
    };
    const terminal = Object.assign(new RecordedTerminal({ live: true }), { log });
    const startGateway: StartGateway = async (options) => {
      options.log.warn({ provider: 'a' }, 'a circuit opened');
      queueMicrotask(() => terminal.interrupt());
      return await start(options);
    };
    const { code, err } = await run(['serve', '--config', file], { terminal, startGateway });
    assert.equal(code, 0);
    assert.match(logged, /^\d\d:\d\d:\d\d warning: a circuit opened provider=a\n/);
    assert.match(err, /The gateway runs/);
    assert.doesNotMatch(logged, /The gateway runs|\{"level"/);
  });

  it('passes a changed configuration to the running gateway', async () => {
    const { start, started } = recordingStart('http://x');
    const terminal = new RecordedTerminal();
    const reloaded = Promise.withResolvers<GatewayConfig>();
    const startGateway: StartGateway = async (options) => ({
      ...(await start(options)),
      reload: (fresh) => reloaded.resolve(fresh),
    });
    const served = run(['serve', '--config', file], { terminal, startGateway });
    while (started.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await writeFile(file, CONFIG.replace('one:', 'two:'));
    assert.deepEqual(Object.keys((await reloaded.promise).models), ['two']);
    terminal.interrupt();
    assert.equal((await served).code, 0);
  });

  it('does not start with an invalid configuration, exit code 2', async () => {
    await writeFile(file, 'nonsense: 1');
    const { code, err } = await run(['serve', '-c', file]);
    assert.equal(code, 2);
    assert.match(err, /nonsense: is not a known key/);
  });

  it('says what to do if the port is taken or not permitted', async () => {
    const taken = Object.assign(new Error('listen'), { code: 'EADDRINUSE' });
    const { code, err } = await run(['serve', '-c', file], { startGateway: () => Promise.reject(taken) });
    assert.equal(code, 1);
    assert.match(err, /127\.0\.0\.1:0 is in use; set PORT, or server\.port/);
    const denied = Object.assign(new Error('listen'), { code: 'EACCES', port: 80 });
    const other = await run(['serve', '-c', file], { startGateway: () => Promise.reject(denied) });
    assert.match(other.err, /may not listen on 127\.0\.0\.1:80; set PORT/);
  });
});

describe('research-gateway demo', () => {
  it('starts the default configuration on a free port with a memory store, asks, shows run and address', async () => {
    await using gateway = await startFakeGateway();
    const { start, started } = recordingStart(gateway.url);
    const { code, err, out } = await run(['demo'], { startGateway: start, variables: { PORT: '1', HOST: '0.0.0.0' } });
    assert.equal(code, 0);
    const [{ config, closed } = { config: undefined, closed: false }] = started;
    assert.deepEqual([config?.server.host, config?.server.port, config?.store.url], ['127.0.0.1', 0, 'memory:']);
    assert.equal(config?.tools.web_search.folder, join(PROJECT_ROOT, 'docs'));
    assert.ok(closed);
    assert.match(err, /thought: .*\n.*web_search/);
    assert.match(err, new RegExp(`The API was at ${gateway.url}/v1`));
    assert.match(out, /An answer/);
  });

  it('keeps running until a signal with --keep', async () => {
    await using gateway = await startFakeGateway();
    const { start, started } = recordingStart(gateway.url);
    const terminal = new RecordedTerminal();
    const done = run(['demo', 'What?', '--keep'], { startGateway: start, terminal });
    await terminal.shown(/Ctrl-C stops it/);
    assert.equal(started[0]?.closed, false);
    await new Promise((resolve) => setImmediate(resolve));
    terminal.interrupt();
    assert.deepEqual([(await done).code, started[0]?.closed], [0, true]);
    assert.match(terminal.written.out, /curl -N/);
  });

  it('exits with the code of the run', async () => {
    await using gateway = await startFakeGateway({ end: 'failed' });
    const { start } = recordingStart(gateway.url);
    assert.equal((await run(['demo'], { startGateway: start })).code, 1);
  });
});

describe('research-gateway config', () => {
  it('schema prints a JSON Schema that accepts the examples but no typos', async () => {
    const { code, out } = await run(['config', 'schema']);
    assert.equal(code, 0);
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(out));
    const folder = join(PROJECT_ROOT, 'config/examples');
    const examples = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
    assert.ok(examples.length > 2);
    for (const name of examples) {
      const example: unknown = parse(await readFile(join(folder, name), 'utf8'));
      assert.ok(validate(example), `${name}: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
    }
    const minimal = { providers: { demo: { builtin: 'demo' } }, models: {}, keys: [{ id: 'a', secret: 'sk-a' }] };
    assert.ok(validate({ ...minimal, server: { port: `\${PORT}` } }), JSON.stringify(validate.errors));
    assert.ok(!validate({ ...minimal, sever: {} }));
    assert.ok(!validate({ ...minimal, server: { prot: 1 } }));
    assert.ok(!validate({ ...minimal, server: { port: 'eighty' } }));
  });

  it('explain shows what a key gets, without secrets', async () => {
    const secrets = {
      OPENAI_API_KEY: 'sk-secret-of-openai',
      TEAM_A_KEY: 'sk-secret-of-team-a',
      TEAM_A_BATCH_KEY: 'sk-secret-of-team-a-batch',
      TEAM_A_OPENAI_KEY: 'sk-secret-of-team-a-at-openai',
      TAVILY_API_KEY: 'tvly-secret',
    };
    const file = join(PROJECT_ROOT, 'config/examples/teams.yaml');
    const explain = (key: string, model: string) =>
      run(['config', 'explain', '--key', key, '--model', model, file], { variables: secrets });
    const own = await explain('team-a', 'service-model-1-7-deepresearch');
    assert.equal(own.code, 0, own.err);
    assert.match(
      own.out,
      /1\. openai: gpt-5 \(https:\/\/api\.openai\.com\/v1, wire chat; credential of the key's provider_keys/,
    );
    assert.match(own.out, /2\. local: qwen3-235b .*no credential/);
    assert.match(own.out, /web_search by tavily/);
    assert.match(own.out, /tokens_per_day 20000000, team cost_per_month 500/);
    const routed = await explain('team-b', 'service-model-1-7-deepresearch');
    assert.match(routed.out, /\(of the key\):\n {2}1\. local/);
    assert.match((await explain('team-b', 'gpt-5')).out, /may NOT be used/);
    const folder = await mkdtemp(join(tmpdir(), 'explain-'));
    const expired = join(folder, 'gateway.yaml');
    const text = (await readFile(file, 'utf8')).replace(
      'user: team-b',
      'user: team-b\n    expires_at: "2020-01-01T00:00:00Z"',
    );
    await writeFile(expired, text);
    const args = ['config', 'explain', '--key', 'team-b', '--model', 'service-model-1-7-deepresearch', expired];
    assert.match((await run(args, { variables: secrets })).out, /may NOT be used: the key has expired/);
    await rm(folder, { recursive: true });
    for (const { out, err } of [own, routed]) assert.doesNotMatch(out + err, /secret/);
    const unknown = await explain('team-x', 'gpt-5');
    assert.deepEqual([unknown.code, /there is no key team-x; there are: team-a/.test(unknown.err)], [2, true]);
  });
});
