import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TurnMessage, TurnRequest } from '../../../src/upstream/turn.ts';
import * as scripted from '../../support/scripted-provider.ts';
import { ask, chat, config, textOf } from './chat-harness.ts';

/** A request of a run that has read pages: it goes out in pieces. */
function longRequest(pages: number): TurnRequest {
  const messages = Array.from({ length: pages }, (_, n): TurnMessage[] => [
    { role: 'assistant', content: '', tool_calls: [{ id: `call_${n}`, name: 'fetch_url_content', arguments: '{}' }] },
    {
      role: 'tool',
      tool_call_id: `call_${n}`,
      content: `Page ${n}: “naïve” \ud83d\ude00 \ud83d ${'text, '.repeat(3000)}`,
    },
  ]);
  return { messages: [{ role: 'user', content: 'Who won?' }, ...messages.flat()], temperature: 0.5 };
}

/** A provider that is no scripted one: it need not read what it is sent. */
async function rawProvider(listener: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

describe('a long request', () => {
  for (const [wire, list] of [
    ['chat', 'messages'],
    ['responses', 'input'],
    ['messages', 'messages'],
  ] as const) {
    it(`goes out as one JSON text of a known length, to the next route too: ${wire}`, async () => {
      await using first = await scripted.startScriptedProvider({ respond: () => scripted.status(503) });
      await using second = await scripted.startScriptedProvider();
      const { upstream, model } = chat(
        config({ first: { base_url: first.url, wire }, second: { base_url: second.url, wire } }),
      );
      await using _ = upstream;
      const request = longRequest(20);
      const parts = await ask(model, request).catch(() => []);
      if (wire === 'chat') assert.equal(textOf(parts), textOf(await ask(model)));
      for (const { requests } of [first, second]) {
        const [{ bytes, body, headers } = assert.fail('not asked')] = requests;
        assert.ok(bytes.length > 300_000);
        assert.equal(headers['content-length'], String(bytes.length));
        assert.equal(headers['transfer-encoding'], undefined);
        assert.equal(bytes.toString(), JSON.stringify(body));
        const sent = JSON.stringify(body[list]);
        for (const { content } of request.messages)
          if (typeof content === 'string') assert.ok(sent.includes(JSON.stringify(content).slice(1, -1)));
      }
    });
  }

  it('is asked again as a refusal wants it, which may come before all of it is read', async () => {
    const asked: Record<string, unknown>[] = [];
    await using provider = await rawProvider(async (request, response) => {
      if (asked.length === 0) {
        asked.push({});
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: "Unsupported parameter: 'temperature'." } }));
        return;
      }
      asked.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"choices":[{"delta":{"content":"Nobody."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    assert.equal(textOf(await ask(model, longRequest(150))), 'Nobody.');
    assert.equal(asked[1]?.temperature, undefined);
    assert.ok(Array.isArray(asked[1]?.messages) && asked[1].messages.length === 301);
  });

  it('is left at once by its reader while it is sent', async () => {
    const came = Promise.withResolvers<void>();
    await using provider = await rawProvider((request) => {
      request.socket.pause();
      request.on('error', () => {});
      came.resolve();
    });
    const { upstream, model } = chat(config({ main: { base_url: provider.url } }));
    await using _ = upstream;
    const client = new AbortController();
    const turn = Array.fromAsync(model.turn(longRequest(150), { signal: client.signal }));
    await came.promise;
    client.abort(new Error('the client left'));
    await assert.rejects(turn, /the client left/);
  });
});
