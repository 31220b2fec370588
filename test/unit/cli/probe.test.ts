import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { probe } from '../../../src/cli/operating/probe.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { loadConfig, parseConfig } from '../../../src/config/load.ts';
import { startScriptedProvider, turn } from '../../support/scripted-provider.ts';
import { RecordedTerminal } from './recorded-terminal.ts';

describe('research-gateway probe', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'probe-test-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function run(provider: string, url = 'http://127.0.0.1:9/v1') {
    const file = join(folder, 'gateway.yaml');
    const lines = [
      `providers: { mine: { base_url: "${url}", api_key: "sk-provider-secret", max_retries: 0 } }`,
      'models: { m: { kind: proxy, routes: [{ provider: mine, model: m }] } }',
      'keys: [{ id: k, secret: sk-gateway-key }]',
      'tools: { web_search: { provider: local, folder: . } }',
    ];
    await writeFile(file, lines.join('\n'));
    const terminal = new RecordedTerminal();
    const code = await probe({ provider, model: 'm', config: file }, { environment: readEnvironment({}), terminal });
    return { code, ...terminal.written };
  }

  it('prints the abilities of a provider and a configuration to paste, without its credential', async () => {
    await using provider = await startScriptedProvider({
      respond: (request) =>
        request.body.tools && !request.body.messages?.some((message) => message.role === 'tool')
          ? turn({
              toolCalls: [
                { name: 'get_weather', arguments: { city: 'Paris' } },
                { name: 'get_weather', arguments: { city: 'Rome' } },
              ],
            })
          : turn({ reasoning: 'I think.', text: 'It is sunny.' }),
    });
    const { code, out } = await run('mine', provider.url);
    assert.equal(code, 0);
    assert.match(out, /^tool calls: yes/m);
    assert.match(out, /^reasoning: yes/m);
    const pasted: unknown = parse(out.slice(out.indexOf('\n\n')));
    assert.ok(JSON.stringify(pasted).includes(provider.url));
    assert.ok(!out.includes('sk-provider-secret'));
  });

  it('prints a complete configuration equal to the one in use, with variables in place of secrets', async () => {
    await using provider = await startScriptedProvider();
    const fields = [
      `base_url: "http://127.0.0.1:$\{PROVIDER_PORT}/v1"`,
      `api_key: "$\{THEIR_KEY:-canary-default}"`,
      'api_key_header: x-api-key',
      `headers: { x-team: research, x-api-key: canary-header, Proxy-Authorization: Bearer canary-proxy, X-Token: "Bearer $\{THEIR_TOKEN}" }`,
      'wire: messages',
      `timeouts:\n      connect: 1.5\n      first_byte: $\{FIRST_BYTE:-7}`,
      'max_retries: 0',
      'max_connections: 3',
      'dialect: text_tools',
    ];
    const variables = { PROVIDER_PORT: String(provider.port), THEIR_TOKEN: 'canary-token' };
    const file = join(folder, 'whole.yaml');
    const rest =
      'models: { m: { kind: proxy, routes: [{ provider: mine, model: m }] } }\nkeys: [{ id: k, secret: sk-k }]';
    await writeFile(
      file,
      `providers:\n  mine:\n    ${fields.join('\n    ')}\n${rest}\ntools: { web_search: { folder: . } }`,
    );
    const terminal = new RecordedTerminal();
    const environment = readEnvironment(variables);
    await probe({ provider: 'mine', model: 'm', config: file }, { environment, terminal });
    const { out } = terminal.written;
    assert.doesNotMatch(out, /canary/);
    const printed = parseConfig(out.slice(out.indexOf('\n\n')), {
      file: 'printed.yaml',
      root: folder,
      environment: readEnvironment({
        ...variables,
        GATEWAY_API_KEY: 'sk-k',
        THEIR_KEY: '123456',
        MINE_X_API_KEY: 'canary-header',
        MINE_PROXY_AUTHORIZATION: 'canary-proxy',
      }),
    });
    const before = await loadConfig({ file, environment });
    assert.deepEqual(printed.providers.mine, { ...before.config.providers.mine, api_key: '123456' });
  });

  it('prints no credential that a provider takes over from another section with a merge key', async () => {
    const file = join(folder, 'merged.yaml');
    const lines = [
      'providers:',
      '  first: &first { base_url: "http://127.0.0.1:9/v1", api_key: sk-canary-key, headers: { x-token: canary-header }, max_retries: 0 }',
      '  mine: { <<: *first, wire: messages }',
      'models: { m: { kind: proxy, routes: [{ provider: mine, model: m }] } }',
      'keys: [{ id: k, secret: sk-k }]',
      'tools: { web_search: { folder: . } }',
    ];
    await writeFile(file, lines.join('\n'));
    const terminal = new RecordedTerminal();
    await probe({ provider: 'mine', model: 'm', config: file }, { environment: readEnvironment({}), terminal });
    const { out } = terminal.written;
    assert.doesNotMatch(out, /canary/);
    assert.match(out, /api_key: "?\$\{MINE_API_KEY\}/);
  });

  it('fails if the provider cannot be used, and lists the known ones for an unknown name', async () => {
    assert.equal((await run('mine')).code, 1);
    const unknown = await run('other');
    assert.equal(unknown.code, 2);
    assert.match(unknown.err, /it has: mine/);
  });
});
