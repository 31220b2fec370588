import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from './gateway-process.ts';
import { type ProviderRequest, type Script, startScriptedProvider } from './scripted-provider.ts';
import { SseReader } from './sse-reader.ts';

/** Where a gateway is killed: once its reader has seen such an event. */
export type Seen = RunEvent['type'] | ((event: RunEvent) => boolean);

export interface Cut {
  storeUrl: (folder: string) => string;
  /** The configuration of the gateway; its only key is `KILLED_KEY`. */
  configOf(provider: { url: string }, store: { storeUrl: string; folder: string }): object;
  /** The request, less `stream`. */
  body: { model: string; input: unknown; store?: boolean; [field: string]: unknown };
  /** Files of the gateway's folder, by path. */
  files?: Readonly<Record<string, string>>;
  respond: (request: ProviderRequest, n: number) => Script | Promise<Script>;
  /** Awaited before the kill. */
  reached?: Promise<void>;
  /** Called once the reader goes on. */
  reopened?(): void;
}

export const KILLED_KEY = 'sk-killed-gateway-0123';
const HEADERS = { authorization: `Bearer ${KILLED_KEY}`, 'content-type': 'application/json' };

/** Kills the gateway once its reader has seen such an event; the reader goes on behind it, and has the same bytes as others. */
export async function cutGateway(seen: Seen, { storeUrl, configOf, body, files, respond, reached, reopened }: Cut) {
  await using provider = await startScriptedProvider({ respond });
  await using folder = await gatewayFolder();
  for (const [path, text] of Object.entries(files ?? {})) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  const config = configOf(provider, { storeUrl: storeUrl(folder.path), folder: folder.path });
  let gateway: GatewayProcess = await startGatewayProcess(config, { folder: folder.path });
  await using _ = { [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
  const posted = { method: 'POST', headers: HEADERS, body: JSON.stringify({ ...body, stream: true }) };
  const first = await SseReader.open(`${gateway.url}/v1/responses`, posted);
  const [created] = await first.until((events) =>
    events.some((event) => (typeof seen === 'string' ? event.type === seen : seen(event))),
  );
  assert.ok(created?.type === 'response.created');
  await reached;
  await gateway.kill();
  await first.end();
  gateway = await startGatewayProcess(config, { folder: folder.path });
  const { id } = created.response;
  const after = Number(/.*"sequence_number":(\d+)/s.exec(first.bytes.toString())?.[1]);
  const path = `${gateway.url}/v1/responses/${id}?stream=true&after=`;
  const rest = await SseReader.open(path + after, { headers: HEADERS });
  reopened?.();
  await rest.end();
  if (body.store === false) {
    assert.equal((await fetch(`${path}0`, { headers: HEADERS })).status, 404);
    const list = await fetch(`${gateway.url}/v1/responses`, { headers: HEADERS });
    assert.match(await list.text(), /"data":\[\]/);
    const last = rest.events.at(-1);
    assert.ok(last?.type === 'response.completed', `${last?.type}`);
    return { response: last.response, requests: provider.requests };
  }
  const whole = await SseReader.open(`${path}0`, { headers: HEADERS });
  await whole.end();
  const frames = (bytes: Buffer) => bytes.toString().replace(/^: .*\n\n/gm, '');
  assert.equal(frames(first.bytes) + frames(rest.bytes), frames(whole.bytes));
  const last = whole.events.at(-1);
  assert.ok(last?.type === 'response.completed', `${last?.type}`);
  return { response: last.response, requests: provider.requests };
}
