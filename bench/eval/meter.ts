import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createFence } from '../../src/research/text/fence.ts';

/** What the requests of one run cost a provider that keeps the prefix of the request before. */
export interface RunCost {
  requests: number;
  /** Tokens of all prompts, four characters each. */
  sent: number;
  /** Of these, the tokens behind the prefix that the request shares with one before. */
  anew: number;
  largest: number;
}

/** Prices of a million tokens. */
export interface Prices {
  input: number;
  cached: number;
  output: number;
}

/** A provider that passes everything on to another one and keeps count of what every run sends. */
export interface Meter extends AsyncDisposable {
  url: string;
  /** By the id of the run's response. */
  costOf(responseId: string): RunCost | undefined;
}

const CHARACTERS = 4;

/** Starts a meter in front of a provider's base URL. */
export async function startMeter(baseUrl: string): Promise<Meter> {
  const runs = new Map<string, { cost: RunCost; texts: string[] }>();
  const server = createServer((request, response) => {
    void relay(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(request));
    if (request.method === 'POST') count(body.toString());
    const { authorization, 'content-type': type = 'application/json' } = request.headers;
    const answer = await fetch(`${baseUrl}${(request.url ?? '').replace(/^\/v1/, '')}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': type, ...(authorization && { authorization }) },
      ...(body.length > 0 && { body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    if (answer.body) Readable.fromWeb(answer.body).pipe(response);
    else response.end();
  }

  function count(body: string): void {
    const { messages } = JSON.parse(body);
    const text = JSON.stringify(messages ?? []);
    // The fence of a run has its own name, which stands in every prompt of it.
    const mark = /tool_result-[a-z]{12}/.exec(text)?.[0] ?? '';
    const { cost, texts } = runs.get(mark) ?? { cost: { requests: 0, sent: 0, anew: 0, largest: 0 }, texts: [] };
    runs.set(mark, { cost, texts });
    const shared = Math.max(0, ...texts.map((before) => commonStart(before, text)));
    const tokens = Math.ceil(text.length / CHARACTERS);
    cost.requests++;
    cost.sent += tokens;
    cost.anew += tokens - Math.floor(shared / CHARACTERS);
    cost.largest = Math.max(cost.largest, tokens);
    texts.splice(0, texts.length - 1);
    texts.push(text);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    costOf: (responseId) => runs.get(createFence(responseId.replace(/^resp_/, '')).mark)?.cost,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The length of the beginning that two texts share, in UTF-16 code units. */
export function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** What a run is billed at these prices. */
export function billed({ sent, anew }: RunCost, outputTokens: number, prices: Prices): number {
  return (anew * prices.input + (sent - anew) * prices.cached + outputTokens * prices.output) / 1_000_000;
}
