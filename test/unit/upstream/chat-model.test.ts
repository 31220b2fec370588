import assert from 'node:assert/strict';
import { TurnError } from '../../../src/upstream/turn.ts';
import * as scripted from '../../support/scripted-provider.ts';
import { ask, chat, config, finishOf, QUESTION } from './chat-harness.ts';

describe('ChatModel.turn', () => {
  const signal = new AbortController().signal;

  it('yields reasoning, text and tool calls in order, then usage and the message to keep', async () => {
    await using provider = await scripted.startScriptedProvider({
      respond: () =>
        scripted.turn({
          reasoning: 'I need a search.',
          text: 'Searching now.',
          toolCalls: [
            { id: 'a', name: 'web_search', arguments: { queries: ['x'] } },
            { id: 'b', name: 'fetch_url_content', arguments: { url: 'https://example.org' } },
          ],
          usage: { prompt_tokens: 100, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 40 } },
        }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, api_key: 'provider-secret' } }));
    await using _ = upstream;
    const parts = await ask(model);
    assert.deepEqual(parts.slice(0, 4), [
      { type: 'reasoning', delta: 'I need a search.' },
      { type: 'text', delta: 'Searching now.' },
      { type: 'tool_call', call: { id: 'a', name: 'web_search', arguments: '{"queries":["x"]}' } },
      { type: 'tool_call', call: { id: 'b', name: 'fetch_url_content', arguments: '{"url":"https://example.org"}' } },
    ]);
    const finish = finishOf(parts);
    assert.equal(finish.reason, 'tool_calls');
    assert.deepEqual(finish.usage, {
      inputTokens: 100,
      cachedTokens: 40,
      outputTokens: 30,
      reasoningTokens: 0,
      estimated: false,
      unpriced: true,
    });
    assert.equal(finish.message.content, 'Searching now.');
    assert.deepEqual(finish.message.replay, { provider: 'main', fields: { reasoning_content: 'I need a search.' } });
  });

  it('sends no half of a character, which parsers of providers refuse', async () => {
    await using provider = await scripted.startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    await ask(model, { messages: [{ role: 'user', content: 'Cut here: \ud83d' }] });
    assert.deepEqual(provider.requests[0]?.body.messages, [{ role: 'user', content: 'Cut here: \ufffd' }]);
  });

  it('yields no half of a character, where a provider splits or cuts it', async () => {
    const halves = ['Good \ud83d', '\ude00', ' day \ud83d'].map((content) => scripted.chunk({ content }));
    await using provider = await scripted.startScriptedProvider({
      respond: () => scripted.frames([...halves, scripted.chunk({}, 'length')], { pace: 5 }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const parts = await ask(model);
    const deltas = parts.flatMap((part) => (part.type === 'text' ? part.delta : []));
    assert.deepEqual(
      deltas.filter((delta) => !delta.isWellFormed()),
      [],
    );
    assert.equal(deltas.join(''), 'Good \u{1f600} day ');
    assert.equal(finishOf(parts).message.content, 'Good \u{1f600} day ');
  });

  it('redacts credentials that a provider puts into the arguments, name or id of a call', async () => {
    const secret = 'provider-secret';
    const escaped = [...secret].map((sign) => `\\u00${sign.charCodeAt(0).toString(16)}`).join('');
    await using provider = await scripted.startScriptedProvider({
      respond: () =>
        scripted.turn({
          toolCalls: [
            { id: secret, name: secret, arguments: `{"key":"${secret}"}` },
            { id: 'b', name: 'find', arguments: `{"key": "${escaped}"}` },
            { id: 'c', name: 'find', arguments: '{"n": 1.0, "t": "\\u0061"}' },
          ],
        }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, api_key: secret } }));
    await using _ = upstream;
    const { message } = finishOf(await ask(model));
    assert.deepEqual(message.tool_calls, [
      { id: '[redacted]', name: '[redacted]', arguments: '{"key":"[redacted]"}' },
      { id: 'b', name: 'find', arguments: '{"key": "[redacted]"}' },
      { id: 'c', name: 'find', arguments: '{"n": 1.0, "t": "\\u0061"}' },
    ]);
  });

  it('sends the credential and headers of the provider, and no SDK headers', async () => {
    await using provider = await scripted.startScriptedProvider();
    const { upstream, model } = chat(
      config({ main: { base_url: provider.url, api_key: 'provider-secret', headers: { 'x-team': 'red' } } }),
    );
    await using _ = upstream;
    await ask(model);
    const [request] = provider.requests;
    assert.equal(request?.path, '/v1/chat/completions');
    assert.equal(request?.headers.authorization, 'Bearer provider-secret');
    assert.equal(request?.headers['x-team'], 'red');
    assert.deepEqual(
      Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('x-stainless') || name.startsWith('openai')),
      [],
    );
    assert.deepEqual(request?.body.stream_options, { include_usage: true });
  });

  it("uses the key's own routes and credentials", async () => {
    await using first = await scripted.startScriptedProvider();
    await using second = await scripted.startScriptedProvider();
    const parsed = config(
      {
        first: { base_url: first.url, api_key: 'first-secret' },
        second: { base_url: second.url, api_key: 'second-secret' },
      },
      { routes: { deep: [{ provider: 'second', model: 'special' }] }, provider_keys: { second: 'own-secret' } },
    );
    const { upstream, model } = chat(parsed);
    await using _ = upstream;
    await ask(model);
    assert.equal(first.requests.length, 0);
    assert.equal(second.requests[0]?.body.model, 'special');
    assert.equal(second.requests[0]?.headers.authorization, 'Bearer own-secret');
  });

  it('estimates usage if the provider reports none', async () => {
    await using provider = await scripted.startScriptedProvider({
      respond: () => scripted.turn({ text: 'one two', usage: null }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const { usage } = finishOf(await ask(model));
    assert.equal(usage.estimated, true);
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  });

  it('closes the connection when its reader leaves or the signal aborts, in every phase', async () => {
    const scripts = [scripted.hang(), scripted.slowFirstToken('forever'), scripted.stallAfter(3)];
    await using provider = await scripted.startScriptedProvider({ respond: (_, n) => scripts[n] ?? scripted.hang() });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    for (const [n] of scripts.entries()) {
      const client = new AbortController();
      const turn = Array.fromAsync(model.turn(QUESTION, { signal: client.signal }));
      const request = await provider.waitForRequest(n + 1);
      client.abort(new Error('the client left'));
      await assert.rejects(turn, /the client left/);
      assert.deepEqual(await request.closed, { left: true });
    }
    provider.respond = () => scripted.stallAfter(3);
    for await (const part of model.turn(QUESTION, { signal })) if (part.type === 'reasoning') break;
    assert.deepEqual(await provider.requests.at(-1)?.closed, { left: true });
    await provider.waitForConnections(0);
  });

  it('uses the next route after a failure before anything was delivered', async () => {
    await using good = await scripted.startScriptedProvider({ respond: () => scripted.turn({ text: 'good' }) });
    const { upstream, model } = chat(
      config({ bad: { base_url: await scripted.refusedUrl() }, good: { base_url: good.url } }),
    );
    await using _ = upstream;
    assert.deepEqual((await ask(model))[0], { type: 'text', delta: 'good' });
  });

  it('fails if a stream breaks after delivery, and uses another route for the next turn', async () => {
    await using bad = await scripted.startScriptedProvider({ respond: () => scripted.cutAfter(4) });
    await using good = await scripted.startScriptedProvider({ respond: () => scripted.turn({ text: 'good' }) });
    const { upstream, model } = chat(config({ bad: { base_url: bad.url }, good: { base_url: good.url } }));
    await using _ = upstream;
    await assert.rejects(ask(model), (error) => {
      assert.ok(error instanceof TurnError);
      assert.deepEqual([error.kind, error.started, error.usage.estimated], ['failed', true, true]);
      return true;
    });
    assert.deepEqual((await ask(model))[0], { type: 'text', delta: 'good' });
    assert.equal(bad.requests.length, 1);
  });

  it('reports the answer of the last route, without credentials', async () => {
    await using provider = await scripted.startScriptedProvider({
      respond: () => scripted.status(401, { message: 'Incorrect API key provided: provider-secret' }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, api_key: 'provider-secret' } }));
    await using _ = upstream;
    await assert.rejects(ask(model), (error) => {
      assert.ok(error instanceof TurnError);
      assert.equal(error.message, 'Provider main failed: HTTP status 401: Incorrect API key provided: [redacted]');
      assert.deepEqual([error.kind, error.started], ['refused', false]);
      return true;
    });
    assert.equal(provider.requests.length, 1);
  });

  it('continues while its provider is reconfigured', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using before = await scripted.startScriptedProvider({
      respond: () => {
        const script = scripted.turn({ text: 'whole' });
        return { ...script, steps: [{ do: 'until', promise }, ...script.steps] };
      },
    });
    await using after = await scripted.startScriptedProvider({ respond: () => scripted.turn({ text: 'new' }) });
    const parsed = config({ main: { base_url: before.url } });
    const { upstream, model } = chat(parsed);
    await using _ = upstream;
    const running = ask(model);
    await before.waitForRequest();
    upstream.update(config({ main: { base_url: after.url } }).providers);
    resolve();
    assert.deepEqual((await running)[0], { type: 'text', delta: 'whole' });
    assert.deepEqual((await ask(model))[0], { type: 'text', delta: 'new' });
    await before.waitForConnections(0);
  });

  it('follows no redirect, which could carry credentials elsewhere', async () => {
    await using elsewhere = await scripted.startScriptedProvider();
    const location = `${elsewhere.url}/chat/completions`;
    await using provider = await scripted.startScriptedProvider({
      respond: () => scripted.status(307, { headers: { location } }),
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, headers: { 'x-key': 'canary' } } }));
    await using _ = upstream;
    await assert.rejects(ask(model), /HTTP status 307/);
    assert.equal(elsewhere.requests.length, 0);
  });

  it('stops reading an endless error page', async () => {
    await using provider = await scripted.startScriptedProvider({
      respond: () => {
        const page = scripted.status(500, { body: '' });
        return {
          ...page,
          steps: Array.from({ length: 500 }, () => ({ do: 'send', bytes: 'x'.repeat(10_000) }) as const),
        };
      },
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url, max_retries: 0 } }));
    await using _ = upstream;
    await assert.rejects(ask(model), /HTTP status 500: x+\.\.\.$/);
    await provider.waitForActive(0);
  });

  it('reuses its connection after a complete turn', async () => {
    await using provider = await scripted.startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    for (let i = 0; i < 5; i += 1) {
      await ask(model);
      await provider.waitForActive(0);
    }
    assert.ok(provider.totalConnections <= 2, `${provider.totalConnections} connections for 5 turns`);
  });

  it('counts as ok if the reader stops at the finish, and as left before', async () => {
    const outcomes: string[] = [];
    await using provider = await scripted.startScriptedProvider();
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }), {
      observe: ({ outcome }) => outcomes.push(outcome),
    });
    await using _ = upstream;
    for await (const part of model.turn(QUESTION, { signal: new AbortController().signal })) {
      if (part.type === 'finish') break;
    }
    for await (const _part of model.turn(QUESTION, { signal: new AbortController().signal })) break;
    assert.deepEqual(outcomes, ['ok', 'left']);
  });
});
