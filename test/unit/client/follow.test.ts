import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import OpenAI from 'openai';
import { follow } from '../../../src/client/follow.ts';
import { isTerminal, runEvent } from '../../../src/protocol/events.ts';
import { startWebServer } from '../../support/web-server.ts';

/** What the server does with a connection that asks for events after number `after`. */
type Script = (answer: Answer, after: number) => void;

/** A stream of events that a script writes. */
class Answer {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Events of these numbers; the one of `last` ends the run. */
  send(from: number, to: number, { last = 9, type = 'response.completed' } = {}): this {
    this.#response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (let number = from; number <= to; number++) {
      const event = { type: number === last ? type : 'response.output_text.delta', sequence_number: number };
      this.#response.write(`id: ${number}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** Breaks the connection once what was written has gone out. */
  cut(): void {
    this.#response.write(': cut\n\n', () => this.#response.socket?.resetAndDestroy());
  }

  /** Breaks the connection before anything is answered. */
  drop(): void {
    this.#response.socket?.resetAndDestroy();
  }

  refuse(status: number): void {
    this.#response.writeHead(status, { 'content-type': 'application/json' });
    this.#response.end(JSON.stringify({ error: { message: 'refused', code: 'no', type: 'api_error', param: null } }));
  }
}

/** A gateway that answers each connection with the next script, and all later ones with the last. */
async function startScripted(scripts: readonly Script[]) {
  const asked: number[] = [];
  const server = await startWebServer((request, response) => {
    const after = Number(new URL(request.url ?? '', 'http://gateway').searchParams.get('starting_after') ?? 0);
    asked.push(after);
    scripts[Math.min(asked.length, scripts.length) - 1]?.(new Answer(response), after);
  });
  const client = new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: 'sk-a', maxRetries: 0 });
  return { ...server, asked, client };
}

async function numbersOf(events: AsyncIterable<{ sequence_number: number }>): Promise<number[]> {
  return await Array.fromAsync(events, (event) => event.sequence_number);
}

const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9];

describe('follow', () => {
  it('resumes a stream that breaks again and again, and yields every event once', async () => {
    await using gateway = await startScripted([
      (answer) => answer.cut(),
      (answer) => answer.send(1, 3).cut(),
      (answer) => answer.refuse(503),
      (answer) => answer.drop(),
      // It repeats the last event that was seen, which no gateway should do.
      (answer, after) => answer.send(after, 6).cut(),
      (answer) => answer.cut(),
      (answer, after) => answer.send(after + 1, 8).end(),
      (answer, after) => answer.send(after + 1, 9).end(),
    ]);
    const lost: unknown[] = [];
    const events = follow(gateway.client, 'resp_1', { onLost: (reason) => lost.push(reason) });
    assert.deepEqual(await numbersOf(events), ALL);
    assert.deepEqual(gateway.asked, [0, 0, 3, 3, 3, 6, 6, 8]);
    assert.equal(lost.length, 7);
    assert.match(String(lost.at(-1)), /ended before the run did/);
  });

  it('ends on every terminal event, even if the connection stays open', async () => {
    const types = runEvent.options
      .flatMap(({ shape }) => [...shape.type.values])
      .filter((type) => isTerminal({ type }));
    assert.equal(types.length, 3);
    for (const type of types) {
      await using gateway = await startScripted([(answer) => void answer.send(1, 9, { type })]);
      assert.deepEqual(await numbersOf(follow(gateway.client, 'resp_1')), ALL);
    }
  });

  it('starts after the event number that it is given', async () => {
    await using gateway = await startScripted([(answer, after) => answer.send(after + 1, 9).end()]);
    assert.deepEqual(await numbersOf(follow(gateway.client, 'resp_1', { after: 7 })), [8, 9]);
    assert.deepEqual(gateway.asked, [7]);
  });

  it('reconnects if a connection goes silent or nothing answers', async () => {
    const silences = Array.from(
      { length: 13 },
      () => (answer: Answer, after: number) => void answer.send(after + 1, 4),
    );
    await using gateway = await startScripted([
      ...silences,
      () => {},
      (answer, after) => answer.send(after + 1, 9).end(),
    ]);
    const lost: unknown[] = [];
    const events = follow(gateway.client, 'resp_1', { silenceMs: 200, onLost: (reason) => lost.push(reason) });
    assert.deepEqual(await numbersOf(events), ALL);
    const reasons = ['SilenceError: nothing came for 0.2 s', 'Error: no answer for 0.2 s'];
    assert.deepEqual(new Set(lost.map(String)), new Set(reasons));
  });

  it("throws the gateway's refusal, of the first request or a later one", async () => {
    await using unknown = await startScripted([(answer) => answer.refuse(404)]);
    await assert.rejects(numbersOf(follow(unknown.client, 'resp_1')), OpenAI.NotFoundError);
    await using deleted = await startScripted([(answer) => answer.send(1, 2).cut(), (answer) => answer.refuse(404)]);
    await assert.rejects(numbersOf(follow(deleted.client, 'resp_1')), OpenAI.NotFoundError);
    assert.equal(deleted.asked.length, 2);
  });

  it('throws at once if the first connection fails', async () => {
    await using gateway = await startScripted([(answer) => answer.drop()]);
    await assert.rejects(numbersOf(follow(gateway.client, 'resp_1')), OpenAI.APIConnectionError);
    assert.equal(gateway.asked.length, 1);
  });

  it("stops with its signal's reason, while reading and between two connections", async () => {
    const reason = new Error('enough');
    await using open = await startScripted([(answer) => void answer.send(1, 2)]);
    const reading = new AbortController();
    const read = async () => {
      for await (const event of follow(open.client, 'resp_1', { signal: reading.signal })) {
        if (event.sequence_number === 2) reading.abort(reason);
      }
    };
    await assert.rejects(read(), reason);
    await using away = await startScripted([(answer) => answer.send(1, 2).cut()]);
    const waiting = new AbortController();
    const wait = follow(away.client, 'resp_1', { signal: waiting.signal, onLost: () => waiting.abort(reason) });
    await assert.rejects(numbersOf(wait), reason);
    assert.equal(away.asked.length, 1);
  });

  it('closes its connection when the reader stops', async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await startWebServer((_request, response) => {
      response.once('close', closed.resolve);
      new Answer(response).send(1, 2);
    });
    const client = new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: 'sk-a' });
    for await (const _ of follow(client, 'resp_1')) break;
    await closed.promise;
  });

  it('imports nothing, so that browsers and bundlers can use it as it is', () => {
    const source = readFileSync(new URL('../../../src/client/follow.ts', import.meta.url), 'utf8');
    const code = source.replace(/^(?:import|export) type [^;]+;$/gm, '');
    assert.notEqual(code, source);
    assert.doesNotMatch(code, /\bimport\b|\bfrom\s*['"]|\brequire\b|\bprocess\b|\bBuffer\b/);
  });
});
