import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ConfigError, type ConfigProblem } from '../../../src/config/config-error.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { DEFAULT_CONFIG_FILE, loadConfig, noticesOf, parseConfig } from '../../../src/config/load.ts';
import { secretsIn } from '../../../src/config/secrets.ts';
import { openApiDocument } from '../../../src/protocol/openapi/openapi.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MINIMAL = `
providers:
  up: { base_url: "http://127.0.0.1:9/v1" }
models:
  m: { kind: proxy, routes: [ { provider: up, model: x } ] }
keys:
  - { id: a, secret: sk-a }
`;

function parse(text: string, variables: Record<string, string> = {}) {
  return parseConfig(text, { file: 'test.yaml', root: '/base', environment: readEnvironment(variables) });
}

/** A provider with further fields, and a key with its own credential for it. */
function ownKey(fields: string): string {
  return MINIMAL.replace('9/v1" }', `9/v1", ${fields} }`).replace('sk-a }', 'sk-a, provider_keys: { up: sk-own } }');
}

function store(url: string, fields = ''): string {
  return `${MINIMAL}store: { url: "${url}", ${fields} }\n`;
}

function problemsOf(text: string, variables: Record<string, string> = {}): readonly ConfigProblem[] {
  try {
    parse(text, variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

/** The problem at a path; fails if there is none. */
function problemAt(path: string, text: string, variables: Record<string, string> = {}): ConfigProblem {
  const problems = problemsOf(text, variables);
  const found = problems.find((problem) => problem.path === path);
  assert.ok(found, `no problem at ${path}, only at ${problems.map((problem) => problem.path).join(', ')}`);
  return found;
}

describe('loading a configuration', () => {
  it('says what is wrong with the number of a variable in quotes, not that it is text', () => {
    const at = (path: string, text: string, value: string) =>
      problemAt(path, `${MINIMAL}${text}`, { N: value }).message;
    assert.equal(at('server.port', `server: { port: "\${N}" }\n`, '70000'), 'must be at most 65535');
    assert.equal(at('runs.max_queued', `runs: { max_queued: "\${N}" }\n`, '-1'), 'must be at least 0');
    assert.match(at('server.port', `server: { port: "\${N}" }\n`, '80abc'), /^must be a number, not text/);
    const { server } = parse(
      `${MINIMAL}server: { body_limit: "\${N}", workers: "\${N}", heartbeat_seconds: "\${N}" }\n`,
      { N: '7' },
    );
    assert.deepEqual([server.bodyLimitBytes, server.workers, server.heartbeatMs], [7, 7, 7000]);
  });

  it('fills in defaults and converts seconds and sizes', () => {
    const config = parse(`${MINIMAL}server: { body_limit: 2mb, heartbeat_seconds: 0.5 }\n`);
    assert.equal(config.server.port, 8080);
    assert.equal(config.server.bodyLimitBytes, 2 * 1024 * 1024);
    assert.equal(config.server.heartbeatMs, 500);
    assert.equal(config.runs.max_concurrent, 200);
  });

  it('refuses a time that no timer can wait for', () => {
    const max = 35_791;
    assert.equal(parse(`${MINIMAL}runs: { max_minutes: ${max} }\n`).runs.maxRunMs, max * 60_000);
    const { message } = problemAt('runs.max_minutes', `${MINIMAL}runs: { max_minutes: ${max + 1} }\n`);
    assert.match(message, /35791/);
  });

  it('accepts merge keys and one list shared by a thousand keys, but no alias bomb', () => {
    const merged = MINIMAL.replace('m: {', 'm: &m {').replace('keys:', '  n: { <<: *m, context_length: 5 }\nkeys:');
    assert.deepEqual(parse(merged).models.n?.routes, parse(merged).models.m?.routes);
    assert.match(problemsOf(`<<: word\n${MINIMAL}`)[0]?.message ?? '', /has a << that leads to no section/);
    const keys = Array.from({ length: 1000 }, (_, i) => `  - { id: k${i}, secret: sk-k${i}, models: *ours }\n`);
    const shared = parse(`${MINIMAL.replace('sk-a }', 'sk-a, models: &ours [m] }')}${keys.join('')}`);
    assert.deepEqual(shared.keys.at(-1)?.models, ['m']);
    const levels = [...'bcdefgh'].map((name, i) => `${name}: &${name} [${`*${'abcdefg'[i]}, `.repeat(9)}]\n`);
    assert.match(problemsOf(`a: &a [x]\n${levels.join('')}${MINIMAL}`)[0]?.message ?? '', /10000 aliases/);
  });

  it('names an alias without its anchor, and the line where it stands', () => {
    const [problem] = problemsOf(`${MINIMAL}runs: *later\nx: &later {}\n`);
    assert.equal(problem?.line, MINIMAL.split('\n').length);
    assert.match(problem.message, /`later`.*write &later/);
  });

  it('explains a section that is merged into itself', () => {
    const text = MINIMAL.replace('providers:', 'providers: &all').replace('up: {', 'up: { <<: *all,');
    assert.match(problemsOf(text)[0]?.message ?? '', /<< that leads to the section around it/);
  });

  it('freezes the result at every depth', () => {
    const config = parse(MINIMAL);
    assert.throws(() => Object.assign(config.server, { port: 1 }), TypeError);
    assert.throws(() => Object.assign(config.keys[0] ?? {}, { secret: 'x' }), TypeError);
  });

  it('resolves relative paths against the root and keeps absolute ones', () => {
    const relative = parse(`${MINIMAL}store: { url: "file:./data" }\ntools: { web_search: { folder: docs } }\n`);
    assert.equal(relative.store.url, 'file:/base/data');
    assert.equal(relative.tools.web_search.folder, '/base/docs');
    assert.equal(parse(MINIMAL).tools.web_search.folder, '/base/docs');
    assert.equal(parse(MINIMAL).tools.web_search.index_folder, '/base/data/search');
    assert.equal(parse(`${MINIMAL}store: { url: "memory:" }\n`).tools.web_search.index_folder, undefined);
    assert.equal(parse(`${MINIMAL}store: { url: "file:///var/lib/g" }\n`).store.url, 'file:/var/lib/g');
    assert.equal(parse(`${MINIMAL}store: { url: "memory:" }\n`).store.url, 'memory:');
  });

  it('lets HOST and PORT override the file', () => {
    const config = parse(`${MINIMAL}server: { host: 127.0.0.1, port: 1 }\n`, { HOST: '0.0.0.0', PORT: '9999' });
    assert.deepEqual([config.server.host, config.server.port], ['0.0.0.0', 9999]);
    assert.match(problemsOf(MINIMAL, { PORT: '80x' })[0]?.message ?? '', /PORT must be a port number/);
  });

  it('names the missing file and says how to choose another', async () => {
    const missing = loadConfig({ file: 'nowhere.yaml', root: tmpdir(), environment: readEnvironment({}) });
    await assert.rejects(missing, /nowhere\.yaml: there is no such file.*--config/);
  });

  it('warns about the well-known key, and about letting every web page use it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-test-'));
    const file = join(folder, 'gateway.yaml');
    const noticesOf = async (text: string) => {
      await writeFile(file, text);
      return (await loadConfig({ environment: readEnvironment({}), file })).notices;
    };
    const anyPage = 'server: { cors_origins: ["*"] }\n';
    const local = MINIMAL.replace('sk-a', 'sk-local');
    assert.deepEqual(await noticesOf(MINIMAL + anyPage), []);
    assert.equal((await noticesOf(local)).length, 1);
    assert.match((await noticesOf(local + anyPage)).join('\n'), /sk-local[\s\S]*every web page[\s\S]*cors_origins/);
    await rm(folder, { recursive: true });
  });

  it('accepts an S3 bucket for files, hides its keys, and names missing, misplaced and invalid settings', () => {
    const keys = `access_key_id: AK1, secret_access_key: "\${S}"`;
    const files = (text: string) => `${MINIMAL}files: { ${text} }\n`;
    const config = parse(files(`url: "s3://bucket/a/b", endpoint: "https://s3.example.org/", ${keys}`), { S: 'of-s3' });
    assert.deepEqual([config.files.url, config.files.endpoint], ['s3://bucket/a/b', 'https://s3.example.org']);
    assert.deepEqual([...secretsIn(config)].slice(0, 2), ['AK1', 'of-s3']);
    assert.match(
      problemAt('files.secret_access_key', files('url: "s3://bucket", access_key_id: AK1')).message,
      /missing/,
    );
    for (const url of ['s3://bucket', undefined]) {
      const text = files(`${url ? `url: "${url}"` : 'enabled: true'}, endpoint: "https://s3.example.org"`);
      const problem = url ? 'files.access_key_id' : 'files.endpoint';
      assert.match(problemAt(problem, text).message, url ? /missing/ : /is for files\.url: s3:/);
    }
    for (const url of ['s3://', 's3://B', 's3://bucket/../x', 's3://bucket//x', 's3://bucket?x', 'https://x/y']) {
      assert.match(problemAt('files.url', files(`url: "${url}", ${keys}`), { S: 's' }).message, /s3:\/\//, url);
    }
    const endpoint = problemAt('files.endpoint', files(`url: "s3://bucket", endpoint: "https://u:p@x", ${keys}`), {
      S: 's',
    });
    assert.match(endpoint.message, /user or password/);
  });

  it('finds credentials in the URLs of providers, telemetry, search and MCP servers', () => {
    const address = (name: string) => `https://a.example/x?v=2&${name}=of%2F${name}`;
    const text = `${MINIMAL.replace('http://127.0.0.1:9/v1', address('key'))}
telemetry: { otlp_endpoint: "${address('token')}" }
tools:
  web_search: { provider: searxng, url: "${address('secret')}" }
  mcp_servers: [{ name: desk, url: "${address('apiKey')}" }]
`;
    const known = [...secretsIn(parse(text))];
    for (const name of ['key', 'token', 'secret', 'apiKey']) {
      assert.ok(known.includes(`of%2F${name}`) && known.includes(`of/${name}`), name);
    }
    assert.ok(!known.includes('2'));
  });

  it('warns of routes that limits of cost do not count', async () => {
    const limited = MINIMAL.replace('sk-a', 'sk-a, limits: { cost_per_day: 1 }');
    assert.match((await noticesOf(parse(limited))).join(), /limits of cost that do not count routes of m,/);
    const priced = limited.replace('model: x', 'model: x, price: { input: 1, output: 2 }');
    for (const text of [MINIMAL, priced]) assert.deepEqual(await noticesOf(parse(text)), []);
  });

  it('warns if several instances share a store but keep files in a local folder', async () => {
    const noticesWith = (text: string) => noticesOf(parse(MINIMAL + text));
    const redis = 'store: { url: "redis://localhost" }\n';
    assert.match((await noticesWith(redis)).join(), /files in the folder \/base\/data\/files.*s3:\/\//);
    const s3 = 'files: { url: "s3://bucket", access_key_id: a, secret_access_key: b }\n';
    for (const text of [redis + s3, `${redis}files: { enabled: false }\n`, 'store: { url: "memory:" }\n', '']) {
      assert.deepEqual(await noticesWith(text), [], text);
    }
  });

  it('falls back to the default configuration, with a notice, if there is no file and none is named', async () => {
    const root = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      const { config, file, notices } = await loadConfig({ environment: readEnvironment({}), root });
      assert.equal(file, join(ROOT, DEFAULT_CONFIG_FILE));
      assert.equal(config.tools.web_search.folder, join(ROOT, 'docs'), 'its documents are those of the gateway');
      assert.equal(config.store.url, `file:${join(root, 'data')}`, 'its runs are kept here');
      assert.match(notices.join('\n'), /uses the default configuration: there is no config\/gateway\.yaml here/);
      await mkdir(join(root, 'config'));
      await writeFile(join(root, DEFAULT_CONFIG_FILE), MINIMAL);
      const own = await loadConfig({ environment: readEnvironment({}), root });
      assert.deepEqual([own.file, own.notices], [DEFAULT_CONFIG_FILE, []]);
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it('reads the file named by GATEWAY_CONFIG if none is given', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      await writeFile(join(folder, 'other.yaml'), MINIMAL);
      const loaded = await loadConfig({ environment: readEnvironment({ GATEWAY_CONFIG: join(folder, 'other.yaml') }) });
      assert.equal(loaded.config.keys[0]?.id, 'a');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('interpolation in a configuration', () => {
  const keyed = (secret: string) => MINIMAL.replace('sk-a', () => secret);

  it(`replaces \${NAME}, uses a default if it is unset or empty, and keeps $\${ literal`, () => {
    const secretOf = (text: string, variables = {}) => parse(keyed(text), variables).keys[0]?.secret;
    assert.equal(secretOf(`"\${K}"`, { K: 'from-env' }), 'from-env');
    assert.equal(secretOf(`"\${K:-fallback}"`), 'fallback');
    assert.equal(secretOf(`"\${K:-fallback}"`, { K: '' }), 'fallback');
    assert.equal(secretOf(`"pre-\${K}-$\${K}"`, { K: 'x' }), `pre-x-\${K}`);
    assert.equal(secretOf(`"\${K}"`, { K: `\${OTHER}` }), `\${OTHER}`, 'a value is not searched again');
  });

  it('inserts the text of a file verbatim; refuses folders, pipes, empty and oversized files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    const path = join(folder, 'key');
    const secretOf = (text: string) => parse(keyed(text)).keys[0]?.secret;
    for (const written of ['sk-from-file', 'sk-from-file\n', 'sk-from-file\r\n']) {
      writeFileSync(path, written);
      assert.equal(secretOf(`"\${file:${path}}"`), 'sk-from-file');
    }
    writeFileSync(path, `\${HOME}`);
    assert.equal(secretOf(`"\${file:${path}}"`), `\${HOME}`, 'it is not searched for references');
    const refused = (text: string, why: RegExp) => assert.match(problemAt('keys[0].secret', keyed(text)).message, why);
    refused(`"\${file:${folder}/none}"`, /needs the file .*none \(ENOENT\)/);
    refused(`"\${file:${folder}}"`, /is a folder/);
    execFileSync('mkfifo', [`${folder}/pipe`]);
    refused(`"\${file:${folder}/pipe}"`, /is a folder, a pipe/);
    writeFileSync(path, '');
    refused(`"\${file:${path}}"`, /empty/);
    writeFileSync(path, 'x'.repeat(70_000));
    refused(`"\${file:${path}}"`, /64 KiB/);
    rmSync(folder, { recursive: true });
  });

  const unquoted = MINIMAL.replace('{ id: a, secret: sk-a }', () => `id: a\n    secret: \${K}`);

  it('gives a value the type that its key wants, with quotes and without', () => {
    const text = `${unquoted}server: { port: "\${P:-81}", body_memory: "\${L:-209715200}" }\n`;
    for (const K of ['12345', 'true', 'null', '1e5', '0x1F']) {
      const { keys, server } = parse(text, { K });
      assert.deepEqual([keys[0]?.secret, server.port, server.bodyMemoryBytes], [K, 81, 209_715_200]);
      assert.equal(parse(keyed(`"\${K}"`), { K }).keys[0]?.secret, K);
    }
    assert.equal(parse(`${MINIMAL}server:\n  port: \${P}\n`, { P: '82' }).server.port, 82);
  });

  it('says of a value that fits in no way what it was as written', () => {
    const server = `server:\n  port: \${P}\n  heartbeat_seconds: "\${H}"\n`;
    const problems = problemsOf(unquoted + server, { K: '12345', P: '-1', H: 'soon' });
    assert.deepEqual(
      problems.map(({ path, message }) => [path, message]),
      [
        ['server.port', 'must be at least 0'],
        ['server.heartbeat_seconds', 'must be a number, not text'],
      ],
    );
  });

  it('cannot break out of its value', () => {
    const config = parse(keyed(`"\${K}"`), { K: 'x",models:[],#' });
    assert.equal(config.keys[0]?.secret, 'x",models:[],#');
  });

  it('names the missing variable and its line, and reports nothing else', () => {
    const problem = problemAt('keys[0].secret', keyed(`"\${MISSING_ONE}"`));
    assert.match(problem.message, /MISSING_ONE/);
    assert.equal(problem.line, 7);
    assert.equal(problemsOf(keyed(`"\${MISSING_ONE}"`)).length, 1, 'and nothing that follows from it');
  });

  it('refuses references in keys, and malformed references', () => {
    assert.match(problemAt(`\${A}`, `${MINIMAL}"\${A}": 1\n`, { A: 'server' }).message, /values only/);
    assert.match(problemAt('keys[0].secret', keyed(`"\${1x}"`)).message, /\$\$\{/);
  });
});

describe('configuration problems', () => {
  it('are reported all at once, in file order, with line and column', () => {
    const text = `server:\n  port: many\n  hots: x\n${MINIMAL.replace('kind: proxy', 'kind: other')}`;
    const problems = problemsOf(text);
    assert.deepEqual(
      problems.map(({ path, line, column }) => [path, line, column]),
      [
        ['server.port', 2, 9],
        ['server.hots', 3, 3],
        ['models.m.kind', 8, 14],
      ],
    );
    assert.match(problems[1]?.message ?? '', /did you mean `host`/);
    assert.match(problems[2]?.message ?? '', /research, proxy/);
  });

  it('include names that JavaScript objects inherit, which would be dropped or lead to a function', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const message = /every JavaScript object has/;
      for (const [section, value] of [
        ['providers', '{ base_url: "http://127.0.0.1:9/v1" }'],
        ['models', '{ kind: proxy, routes: [{ provider: up, model: x }] }'],
      ]) {
        const text = MINIMAL.replace(`${section}:\n`, `${section}:\n  ${name}: ${value}\n`);
        assert.match(problemAt(`${section}.${name}`, text).message, message);
      }
      assert.match(problemAt(`teams.${name}`, `${MINIMAL}teams: { ${name}: {} }\n`).message, message);
    }
    const { path, line } = problemAt(
      'keys[0].provider_keys.__proto__',
      MINIMAL.replace('sk-a }', 'sk-a, provider_keys: { __proto__: b } }'),
    );
    assert.deepEqual([path, line], ['keys[0].provider_keys.__proto__', 7]);
    const env = 'tools: { mcp_servers: [{ name: a, command: b, env: { "__proto__": c } }] }\n';
    assert.match(problemAt('tools.mcp_servers[0].env.__proto__', MINIMAL + env).message, /choose another/);
  });

  it('point at the line of broken YAML without quoting it', () => {
    const [problem] = problemsOf('keys:\n  - secret: "hidden-value\n');
    assert.equal(problem?.line, 3);
    assert.ok(!problem?.message.includes('hidden-value'));
  });

  it('are explained for an empty file, a list, a repeated key and a second document', () => {
    assert.match(problemsOf('')[0]?.message ?? '', /is empty/);
    assert.match(problemsOf('- 1')[0]?.message ?? '', /not a list/);
    assert.match(problemsOf('keys: 1\nkeys: 2')[0]?.message ?? '', /stands here twice: remove one/);
    assert.match(problemsOf(`${MINIMAL}---\n${MINIMAL}`)[0]?.message ?? '', /a second document begins here/);
  });

  it('include unknown tags, whose text would otherwise become the value', () => {
    const [problem] = problemsOf(MINIMAL.replace('sk-a', '!env APP_KEY'));
    assert.equal(problem?.line, 7);
    assert.match(problem?.message ?? '', /tag that is not known/);
  });

  it('include an unfilled {{ template }}, without a process warning that would print it', () => {
    const warned = mock.method(process, 'emitWarning', () => {});
    problemAt('providers.up.api_key', MINIMAL.replace('9/v1"', '9/v1", api_key: {{ sk-canary }}'));
    warned.mock.restore();
    assert.equal(warned.mock.callCount(), 0);
  });

  it('include a file in UTF-16, as some shells write it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'config-'));
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, Buffer.from(`\uFEFF${MINIMAL}`, 'utf16le'));
    await assert.rejects(loadConfig({ environment: readEnvironment({}), file }), /is not UTF-8/);
    await rm(folder, { recursive: true });
  });

  it('explain a provider with neither or both of builtin and base_url, and a bad base_url', () => {
    const withUp = (up: string) => MINIMAL.replace('{ base_url: "http://127.0.0.1:9/v1" }', up);
    for (const up of ['{}', '{ builtin: demo, base_url: "http://x" }']) {
      assert.match(problemAt('providers.up', withUp(up)).message, /base_url.*or builtin: demo/);
    }
    assert.match(problemAt('providers.up.apikey', withUp('{ base_url: "http://x", apikey: k }')).message, /`api_key`/);
    assert.match(problemAt('providers.up.base_url', withUp('{ base_url: "ftp://x" }')).message, /http or https/);
    assert.match(
      problemAt('providers.up.base_url', withUp('{ base_url: "http://u:p@x" }')).message,
      /user or password/,
    );
  });

  it('print nothing of the file, even if LOG_TOKENS asks the YAML parser to', () => {
    const print = mock.method(console, 'log', () => {});
    process.env.LOG_TOKENS = '1';
    try {
      parse(MINIMAL);
      assert.equal(process.env.LOG_TOKENS, '1', 'the environment is as it was');
    } finally {
      delete process.env.LOG_TOKENS;
      print.mock.restore();
    }
    assert.equal(print.mock.callCount(), 0);
  });

  it('never show a secret, whichever field it is in', () => {
    const canary = 'canary-5e6f7a8b';
    const texts = [
      `keys: [ { id: a, secret: ["${canary}"] } ]`,
      `keys: [ { id: a, secret: "${canary} with space" } ]`,
      `keys: [ { id: a, secret_sha256: "${canary}" }, { id: b, secret: ${canary}, secret_sha256: ${canary} } ]`,
      `keys: [ { id: a, secret: ${canary} }, { id: a, secret: ${canary} } ]`,
      `providers: { p: { base_url: "https://user:${canary}@host", api_key: "${canary} x" } }`,
      `store: { url: "redis:${canary}" }`,
      `keys: [ { id: a, secret: "${canary}`,
      `keys: [ { id: a, secret: "\${K:-${canary}} \${X" } ]`,
    ];
    for (const text of texts) {
      const problems = problemsOf(text);
      assert.ok(problems.length > 0, text);
      assert.ok(!JSON.stringify(problems).includes(canary), `${text} shows its secret`);
    }
  });
});

describe('a problem message', () => {
  const model = (fields: string) => MINIMAL.replace('kind: proxy', fields);
  const tools = (fields: string) => `${MINIMAL}tools: { ${fields} }\n`;
  const cases: [name: string, text: string, path: string, message: RegExp][] = [
    [
      'a proxy key in a research model',
      model('kind: research, continue_streams: true'),
      'models.m.continue_streams',
      /^does not go with `kind: research`; remove it$/,
    ],
    [
      'a research key in a proxy model',
      model('kind: proxy, research: {}'),
      'models.m.research',
      /does not go with `kind: proxy`/,
    ],
    [
      'a misspelt key of the right kind',
      model('kind: proxy, continue_strems: true'),
      'models.m.continue_strems',
      /mean `continue_streams`\?/,
    ],
    ['a misspelt kind', model('kind: reserch'), 'models.m.kind', /one of: research, proxy; did you mean `research`\?/],
    [
      'a misspelt search provider',
      tools('web_search: { provider: googel }'),
      'tools.web_search.provider',
      /mean `google`\?/,
    ],
    ['a misspelt log level', `${MINIMAL}logging: { level: warning }\n`, 'logging.level', /mean `warn`\?/],
    ['a log level unlike any', `${MINIMAL}logging: { level: loud }\n`, 'logging.level', /silent$/],
    [
      'a misspelt tool',
      model('kind: research, research: { tools: [websearch] }'),
      'models.m.research.tools[0]',
      /mean `web_search`\?/,
    ],
    [
      'audio over an API that takes none',
      model('kind: proxy, audio: true').replace('9/v1" }', '9/v1", wire: messages }'),
      'models.m.audio',
      /the provider `up` speaks the Messages API, which takes no audio/,
    ],
    [
      'a misspelt provider',
      MINIMAL.replace('provider: up', 'provider: upp'),
      'models.m.routes[0].provider',
      /`upp`; did you mean `up`\?/,
    ],
    [
      'a misspelt effort',
      model('kind: research, research: { budgets: { hihg: { turns: 3 } } }'),
      'models.m.research.budgets.hihg',
      /mean `high`\?/,
    ],
    [
      'a misspelt key that others depend on',
      MINIMAL.replace('base_url', 'base_ulr'),
      'providers.up.base_ulr',
      /mean `base_url`\?/,
    ],
    [
      'a relative path to a secret',
      MINIMAL.replace('9/v1"', '9/v1", api_key: { file: token }'),
      'providers.up.api_key.file',
      /absolute/,
    ],
    [
      'a credential with spaces',
      MINIMAL.replace('9/v1"', '9/v1", api_key: a b'),
      'providers.up.api_key',
      /without spaces/,
    ],
    [
      'a list in place of a secret',
      MINIMAL.replace('9/v1"', '9/v1", api_key: [a]'),
      'providers.up.api_key',
      /\{ command/,
    ],
    ['quotes around a number', `${MINIMAL}server: { port: "80" }\n`, 'server.port', /without quotes/],
    [
      'a single value in place of a list',
      `${MINIMAL}server: { cors_origins: "*" }\n`,
      'server.cors_origins',
      /put it in \[ \]/,
    ],
    [
      'a union of words and booleans',
      model('kind: research, research: { verify: maybe }'),
      'models.m.research.verify',
      /^must be auto, true or false$/,
    ],
    [
      'a date in words',
      model('kind: research, research: { sources: { after: yesterday } }'),
      'models.m.research.sources.after',
      /such as 2024-03-31/,
    ],
    [
      'an empty list',
      MINIMAL.replace('sk-a', 'sk-a, webhook: { url: "https://a.test", events: [] }'),
      'keys[0].webhook.events',
      /^must have an entry$/,
    ],
    ['an empty text', model('kind: proxy, owned_by: ""'), 'models.m.owned_by', /^must not be empty$/],
    [
      'the address of one API of a provider',
      MINIMAL.replace('9/v1', '9/v1/chat/completions'),
      'providers.up.base_url',
      /leave out \/chat\/completions/,
    ],
    [
      'a misspelt tool of a proxy model',
      model('kind: proxy, tools: [websearch]'),
      'models.m.tools[0]',
      /mean `web_search`\?/,
    ],
    [
      'a boolean in place of a list',
      MINIMAL.replace('sk-a', 'sk-a, passthrough: true'),
      'keys[0].passthrough',
      /must be all, or a list/,
    ],
  ];
  for (const [name, text, path, message] of cases) {
    it(`helps with ${name}`, () => assert.match(problemAt(path, text).message, message));
  }

  it('says what is required for infinite and fractional numbers, tiny times and invalid sizes', () => {
    const server = (fields: string) => `${MINIMAL}server: { ${fields} }\n`;
    for (const endless of ['.nan', '.inf', '1e999']) {
      assert.match(problemAt('server.port', server(`port: ${endless}`)).message, /not \.nan, \.inf or one too large/);
      assert.match(problemAt('server.body_limit', server(`body_limit: ${endless}`)).message, /size such as 10mb/);
    }
    assert.match(problemAt('server.port', server('port: 80.5')).message, /not one with a fraction/);
    const tiny = problemAt('server.heartbeat_seconds', server('heartbeat_seconds: 1e-9'));
    assert.match(tiny.message, /at least a millisecond/);
    for (const endless of ['1e300', '876601', '1e999']) {
      problemAt('store.retention_hours', `${MINIMAL}store: { retention_hours: ${endless} }\n`);
    }
    for (const none of ['0mb', '0.1b', '99999999999gb']) {
      assert.match(problemAt('server.body_limit', server(`body_limit: ${none}`)).message, /from 1 byte/);
    }
  });

  it('explains rules about hosts that would match none, and ports and paths that would be ignored', () => {
    const rules = {
      'tools.fetch_url_content.deny_hosts': (rule: string) => tools(`fetch_url_content: { deny_hosts: [${rule}] }`),
      'tools.fetch_url_content.allow_hosts': (rule: string) => tools(`fetch_url_content: { allow_hosts: [${rule}] }`),
      'tools.web_search.deny_domains': (rule: string) => tools(`web_search: { deny_domains: [${rule}] }`),
      'tools.web_search.allow_domains': (rule: string) => tools(`web_search: { allow_domains: [${rule}] }`),
      'webhooks.allow_hosts': (rule: string) => `${MINIMAL}webhooks: { allow_hosts: [${rule}] }\n`,
      'models.m.research.sources.blocked_domains': (rule: string) =>
        model(`kind: research, research: { sources: { blocked_domains: [${rule}] } }`),
    };
    for (const [path, text] of Object.entries(rules)) {
      for (const useless of ['""', '"https://a.test/x"', '"a.test:8080"', '"a b"']) {
        assert.match(problemAt(`${path}[0]`, text(useless)).message, /host such as example\.org/, path + useless);
      }
    }
    const kept = '"*.A.test", "https://münchen.example", "::1", 10.1.2.3';
    const parsed = parse(rules['webhooks.allow_hosts'](kept)).webhooks.allow_hosts;
    assert.deepEqual(parsed, ['a.test', 'xn--mnchen-3ya.example', '[::1]', '10.1.2.3']);
  });

  it('explains headers that would make every request fail', () => {
    const withHeaders = (headers: string) => MINIMAL.replace('9/v1"', `9/v1", headers: { ${headers} }`);
    const token = { TOKEN: 'abc\n' };
    assert.match(problemAt('providers.up.headers.x', withHeaders('x: "$' + '{TOKEN}"'), token).message, /one line/);
    assert.match(
      problemAt('providers.up.headers.Content-Length', withHeaders('Content-Length: "5"')).message,
      /the gateway sets itself/,
    );
  });

  it('is given for a passed-through path that the gateway serves itself', () => {
    const served = Object.keys(openApiDocument().paths ?? {}).filter((path) => path.startsWith('/v1/'));
    const roots = new Set(served.map((path) => path.split('/{')[0] ?? ''));
    for (const path of roots) {
      // Those that a provider may serve instead (docs/files.md).
      if (path === '/v1/files' || path === '/v1/vector_stores') continue;
      const text = `${MINIMAL}passthrough: [{ path: ${path}, provider: up }]\n`;
      assert.match(problemAt('passthrough[0].path', text).message, /gateway's own/, path);
    }
  });

  it('is given once for a misspelt section', () => {
    assert.deepEqual(
      problemsOf(MINIMAL.replace('providers:', 'provdiers:')).map(({ path }) => path),
      ['provdiers'],
    );
  });

  it('is not given for valid settings that depend on a broken section', () => {
    const text = MINIMAL.replace('sk-a', 'sk-a, passthrough: [/v1/files]');
    const passthrough = 'passthrough: [{ path: /v1/files, provider: up }]\n';
    assert.deepEqual(
      problemsOf(`${text}${passthrough}server: { port: x }\n`).map(({ path }) => path),
      ['server.port'],
    );
  });

  it('asks for quotes around each unquoted variable in braces or brackets, and nothing else', () => {
    const text = `keys:\n  - { id: a, secret: \${A:-b} }\n  - { id: b, secret: \${B} }\n  - { id: c, models: [\${C}], secret: d }\n`;
    const problems = problemsOf(text);
    assert.ok(problems.length >= 2 && problems.length <= 3, JSON.stringify(problems));
    for (const { message } of problems) assert.match(message, /put a value with \$\{\.\.\.\} in quotes/);
    assert.deepEqual([problems[0]?.line, problems[0]?.column], [2, 22]);
  });

  it('is given once for invalid YAML, without follow-up errors or quotes from the file', () => {
    const canary = 'canary-5e6f7a8b';
    for (const text of [
      `keys: [ { id: a ]\nserver: { port: 1 }\n`,
      `- a\n${canary}: 1\n`,
      `a: {b: 1}}\n${canary}: 2\nc: 3\n`,
      `up: base_url: ${canary}\n`,
    ]) {
      const problems = problemsOf(text);
      assert.equal(problems.length, 1, JSON.stringify(problems));
      assert.ok(!JSON.stringify(problems).includes(canary), JSON.stringify(problems));
    }
  });

  it('is given for each of a thousand mistakes', () => {
    const keys = Array.from({ length: 1000 }, (_, n) => `  - { id: k${n}, secret: sk-${n}, limit: {} }`);
    assert.equal(problemsOf(MINIMAL.replace('  - { id: a, secret: sk-a }', keys.join('\n'))).length, 1000);
  });
});

describe('rules across sections', () => {
  const rules: [name: string, text: string, path: string, message: RegExp][] = [
    [
      'a route to an unknown provider',
      MINIMAL.replace('provider: up', 'provider: down'),
      'models.m.routes[0].provider',
      /`down`; up is/,
    ],
    [
      'an unknown model of a key',
      `${MINIMAL}    \n  - { id: b, secret: sk-b, models: [nope] }\n`,
      'keys[1].models[0]',
      /`nope`/,
    ],
    [
      'a route of a key to an unknown provider',
      `${MINIMAL}  - { id: b, secret: sk-b, routes: { m: [ { provider: z, model: x } ] } }\n`,
      'keys[1].routes.m[0].provider',
      /`z`/,
    ],
    [
      'routes of a key for an unknown model',
      `${MINIMAL}  - { id: b, secret: sk-b, routes: { q: [ { provider: up, model: x } ] } }\n`,
      'keys[1].routes.q',
      /`q`/,
    ],
    [
      "a key's credential for an unknown provider",
      `${MINIMAL}  - { id: b, secret: sk-b, provider_keys: { z: kk } }\n`,
      'keys[1].provider_keys.z',
      /`z`/,
    ],
    [
      "a credential in headers that a key's own would not replace",
      ownKey('headers: { X-Team: research, Api-Key: sk-operator }'),
      'providers.up.headers.Api-Key',
      /keys\[0\]\.provider_keys\.up would not replace: add `api_key_header: Api-Key`/,
    ],
    [
      "a header from a secret source that a key's own credential would not replace",
      ownKey('headers: { X-Team: { file: /run/secrets/team } }'),
      'providers.up.headers.X-Team',
      /keys\[0\]\.provider_keys\.up would not replace/,
    ],
    [
      "a credential in a custom header that a key's own would not replace",
      ownKey('headers: { x-tenant: Bearer abc }'),
      'providers.up.headers.x-tenant',
      /api_key_header: x-tenant/,
    ],
    [
      "a second credential beside a key's own",
      ownKey('api_key_header: api-key, headers: { Authorization: Bearer sk-operator }'),
      'providers.up.headers.Authorization',
      /beside keys\[0\]\.provider_keys\.up/,
    ],
    [
      "a credential in a URL that a key's own would not replace",
      MINIMAL.replace('9/v1', '9/v1?key=abc').replace('secret: sk-a', 'secret: sk-a, provider_keys: { up: sk-own }'),
      'providers.up.base_url',
      /move it to api_key/,
    ],
    ['TLS files for a URL without TLS', store('redis://h', 'tls: { ca_file: /a.pem }'), 'store.tls', /rediss:/],
    ['replicas of a folder', store('file:./d', 'replicas: 1'), 'store.replicas', /Redis only/],
    ['sync writes of Redis', store('redis://h', 'sync: full'), 'store.sync', /SQLite only/],
    ['unknown parameters of a store', store('redis://h/0?prefix=a'), 'store.url', /nothing behind a \?/],
    ['a repeated key id', `${MINIMAL}  - { id: a, secret: sk-b }\n`, 'keys[1].id', /keys\[0\]/],
    ['a repeated secret', `${MINIMAL}  - { id: b, secret: sk-a }\n`, 'keys[1].secret', /keys\[0\]/],
    [
      'a repeated secret given as a hash',
      `${MINIMAL}  - { id: b, secret_sha256: 9b4ed4c2f5b8dd4a4dd8b7e4d5e5ed5c1d3d4a3e62fb7bf4d8d8fda30e1f84e6 }\n  - { id: c, secret_sha256: 9B4ED4C2F5B8DD4A4DD8B7E4D5E5ED5C1D3D4A3E62FB7BF4D8D8FDA30E1F84E6 }\n`,
      'keys[2].secret_sha256',
      /keys\[1\]/,
    ],
    [
      'an unknown tool',
      MINIMAL.replace('kind: proxy,', 'kind: research, research: { tools: [websearch] },'),
      'models.m.research.tools[0]',
      /web_search/,
    ],
    [
      'a reader route to an unknown provider',
      MINIMAL.replace(
        'kind: proxy,',
        'kind: research, research: { tools: [], reader: [ { provider: z, model: x } ] },',
      ),
      'models.m.research.reader[0].provider',
      /`z`/,
    ],
    [
      'a failover rule that is not an error status',
      MINIMAL.replace('kind: proxy,', 'kind: proxy, failover_on: [429, 200],'),
      'models.m.failover_on[1]',
      /at least 400/,
    ],
    [
      'contradicting failover rules',
      MINIMAL.replace('kind: proxy,', 'kind: proxy, failover_on: [busy, 429], failover_off: [500, busy],'),
      'models.m.failover_off[1]',
      /failover_on/,
    ],
    [
      'max_completion_tokens as large as the context',
      MINIMAL.replace(
        'kind: proxy,',
        'kind: research, research: { tools: [] }, context_length: 100, max_completion_tokens: 100,',
      ),
      'models.m.max_completion_tokens',
      /smaller/,
    ],
    [
      'searxng without url',
      `${MINIMAL}tools: { web_search: { provider: searxng } }\n`,
      'tools.web_search.url',
      /searxng/,
    ],
    [
      'embeddings from an unknown provider',
      `${MINIMAL}tools: { web_search: { embeddings: { routes: [ { provider: z, model: x } ] } } }\n`,
      'tools.web_search.embeddings.routes[0].provider',
      /`z`/,
    ],
    [
      'brave without key',
      `${MINIMAL}tools: { web_search: { provider: brave } }\n`,
      'tools.web_search.api_key',
      /brave/,
    ],
    [
      'a fallback without key',
      `${MINIMAL}tools: { web_search: { folder: docs, fallbacks: [ { provider: serper } ] } }\n`,
      'tools.web_search.fallbacks[0].api_key',
      /serper/,
    ],
    [
      'a repeated MCP server',
      `${MINIMAL}tools: { mcp_servers: [ { name: s, url: "http://x" }, { name: s, command: run } ] }\n`,
      'tools.mcp_servers[1].name',
      /mcp_servers\[0\]/,
    ],
    [
      'the same port for server and admin',
      `${MINIMAL}server: { port: 80, admin_port: 80 }\n`,
      'server.admin_port',
      /differ/,
    ],
    [
      'the default key on a public address',
      `${MINIMAL.replace('sk-a', 'sk-local')}server: { host: 0.0.0.0 }\n`,
      'keys[0].secret',
      /GATEWAY_API_KEY/,
    ],
  ];
  for (const [name, text, path, message] of rules) {
    it(`refuse ${name}`, () => assert.match(problemAt(path, text).message, message));
  }

  it("accept headers without credentials, or with one for an intermediary, beside a key's own credential", () => {
    for (const fields of [
      'headers: { X-Team: research }',
      'api_key_header: API-Key, headers: { api-key: sk-operator }',
      'api_key_header: Authorization, headers: { authorization: Bearer sk-operator, cf-aig-authorization: Bearer x }',
    ]) {
      assert.deepEqual(problemsOf(ownKey(fields)), []);
    }
    assert.deepEqual(problemsOf(MINIMAL.replace('9/v1" }', '9/v1", headers: { api-key: sk-operator } }')), []);
  });

  it('are checked in valid sections even if another is broken', () => {
    const text = `${MINIMAL.replace('provider: up', 'provider: down')}server: { port: x }\n`;
    assert.deepEqual(
      problemsOf(text).map(({ path }) => path),
      ['models.m.routes[0].provider', 'server.port'],
    );
    assert.deepEqual(
      problemsOf(`${MINIMAL.replace('id: a', 'id: a, team: nobody')}teams: { sales: {} }\nserver: { port: x }\n`).map(
        ({ path }) => path,
      ),
      ['keys[0].team', 'server.port'],
    );
  });

  it('accept the default key on every loopback address', () => {
    for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '::1']) {
      assert.deepEqual(problemsOf(`${MINIMAL.replace('sk-a', 'sk-local')}server: { host: "${host}" }\n`), []);
    }
  });
});
