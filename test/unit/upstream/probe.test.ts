import assert from 'node:assert/strict';
import { configSchema, type RemoteProviderConfig } from '../../../src/config/schema.ts';
import { probeProvider } from '../../../src/upstream/probing/probe.ts';
import { type ChatBody, type Script, startScriptedProvider, status, turn } from '../../support/scripted-provider.ts';

const signal = new AbortController().signal;

/** The provider as written in the configuration file. */
const WRITTEN = { base_url: 'http://gpu-1:8000/v1', api_key: `$\{MAIN_KEY}`, wire: 'chat', timeouts: { idle: 20 } };

function remote(config: object): RemoteProviderConfig {
  const parsed = configSchema.parse({ providers: { main: config }, models: {}, keys: [{ id: 'k', secret: 's' }] })
    .providers.main;
  assert.ok(parsed && 'base_url' in parsed);
  return parsed;
}

/** A model that calls tools natively once for each city, and answers after their results. */
function capable(body: ChatBody): Script {
  if (!body.tools) return turn({ reasoning: 'Easy.', text: 'Paris' });
  if (body.messages?.at(-1).role === 'tool') return turn({ text: 'Sunny in both.' });
  return turn({ toolCalls: ['Paris', 'Rome'].map((city) => ({ name: 'get_weather', arguments: { city } })) });
}

describe('probeProvider', () => {
  it('reports the abilities of a capable provider, and writes a configuration without a dialect', async () => {
    await using provider = await startScriptedProvider({ respond: ({ body }) => capable(body) });
    const config = remote({ base_url: provider.url, api_key: 'canary-secret' });
    const report = await probeProvider({ name: 'main', config, written: WRITTEN, signal });
    assert.equal(report.model, 'scripted');
    assert.equal(report.usable, true);
    assert.deepEqual(
      report.findings.map(({ about, result, detail }) => `${about}: ${result}, ${detail}`),
      [
        'model is listed: yes, 1 listed',
        'streamed answer: yes, "Paris"',
        'reasoning: yes, in reasoning_content',
        'usage in streams: yes, 11 in, 7 out',
        'tool calls: yes, native',
        'parallel tool calls: yes, 2 in one turn',
        'turn after tool results: yes, "Sunny in both."',
        'all parameters accepted: yes, nothing was refused',
      ],
    );
    assert.equal(
      report.configuration,
      [
        'providers:',
        '  main:',
        '    base_url: http://gpu-1:8000/v1',
        `    api_key: "$\{MAIN_KEY}"`,
        '    wire: chat',
        '    timeouts:',
        '      idle: 20',
        'models:',
        '  deep-research:',
        '    kind: research',
        '    routes:',
        '      - provider: main',
        '        model: scripted',
        'keys:',
        '  - id: local',
        `    secret: "$\{GATEWAY_API_KEY}"`,
        '',
      ].join('\n'),
    );
    assert.doesNotMatch(JSON.stringify(report), /canary/);
  });

  it('finds what a provider refuses, and names the dialect that avoids it', async () => {
    await using provider = await startScriptedProvider({
      respond: ({ body }) => {
        if ('tools' in body) return status(400, { message: 'this model does not support tools' });
        if ('temperature' in body) return status(400, { message: "Unsupported parameter: 'temperature'" });
        const system = String(body.messages?.[0].content);
        if (!system.includes('<tools>')) return turn({ text: '<think>Easy.</think>Paris', usage: null });
        const calls = ['Paris', 'Rome'].map(
          (city) => `<tool_call>{"name": "get_weather", "arguments": {"city": "${city}"}}</tool_call>`,
        );
        return turn({ text: body.messages?.length === 2 ? calls.join('\n') : 'Sunny.' });
      },
    });
    const report = await probeProvider({
      name: 'main',
      config: remote({ base_url: provider.url }),
      written: WRITTEN,
      model: 'small',
      signal,
    });
    assert.equal(report.usable, true);
    const details = Object.fromEntries(
      report.findings.map(({ about, result, detail }) => [about, `${result}: ${detail}`]),
    );
    assert.equal(details['model is listed'], 'no: 1 listed');
    assert.equal(details.reasoning, 'yes: inside the content (tags or parts)');
    assert.equal(details['usage in streams'], 'no: none reported; tokens are estimated');
    assert.equal(details['tool calls'], 'yes: written as text');
    assert.equal(details['all parameters accepted'], 'no: refused: temperature (adapted by itself)');
    assert.match(report.configuration, /dialect: text_tools/);
  });

  it('says why a provider is unusable', async () => {
    await using provider = await startScriptedProvider({
      respond: () => status(401, { message: 'Incorrect API key: canary-secret' }),
    });
    const config = remote({ base_url: provider.url, api_key: 'canary-secret' });
    const report = await probeProvider({ name: 'main', config, written: WRITTEN, model: 'scripted', signal });
    assert.equal(report.usable, false);
    assert.deepEqual(report.findings[1], {
      about: 'streamed answer',
      result: 'no',
      detail: 'HTTP status 401: Incorrect API key: [redacted]',
    });
  });

  it('stops when its signal aborts', async () => {
    await using provider = await startScriptedProvider();
    const config = remote({ base_url: provider.url });
    await assert.rejects(
      probeProvider({
        name: 'main',
        config,
        written: WRITTEN,
        model: 'x',
        signal: AbortSignal.abort(new Error('enough')),
      }),
      /enough/,
    );
  });
});
