import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from './gateway-process.ts';
import { type ProviderRequest, type Script, startScriptedProvider } from './scripted-provider.ts';
import { SseReader } from './sse-reader.ts';

/** The gateway that is killed, and the one that comes after it. */
export interface Killed {
  storeUrl: (folder: string) => string;
  /** The configuration of the gateway; its only key is `KILLED_KEY`. */
  configOf(
    provider: { url: string },
    store: { storeUrl: string; folder: string },
  ): { models: Readonly<Record<string, Model>> };
  /** Files of the gateway's folder, by path. */
  files?: Readonly<Record<string, string>>;
}

interface Model {
  routes: readonly { provider: string; model: string }[];
  [field: string]: unknown;
}

/** A run, and where the gateway may be killed. */
export interface CutRun {
  /** Once its reader has seen such an event. */
  seen: RunEvent['type'] | ((event: RunEvent) => boolean);
  /** Awaited too before the kill. */
  reached?: Promise<void>;
  /** The request, less `stream`. */
  body: { model: string; input: unknown; store?: boolean; [field: string]: unknown };
  /** Answers the requests of this run; `n` counts them. */
  respond: (request: ProviderRequest, n: number) => Script | Promise<Script>;
  /** Called once the reader goes on. */
  reopened?(): void;
}

export interface GoneOn {
  response: ResponseObject;
  requests: ProviderRequest[];
}

export const KILLED_KEY = 'sk-killed-gateway-0123';
const HEADERS = { authorization: `Bearer ${KILLED_KEY}`, 'content-type': 'application/json' };

/** A test of a run: the place where it is cut, and what is true of it once it has gone on. */
export type CutTest = CutRun & { check(goneOn: GoneOn): void };

/** Tests by title whose runs wait where they are to be cut: one gateway is killed under all of them. */
export function cutTogether(killed: Killed, tests: Readonly<Record<string, CutTest>>): void {
  let all: Promise<GoneOn>[];
  before(async () => {
    all = await cutRuns(killed, Object.values(tests));
  });
  for (const [index, [title, { check }]] of Object.entries(tests).entries()) {
    it(title, async () => {
      const goneOn = await all[index];
      assert.ok(goneOn);
      check(goneOn);
    });
  }
}

/** Kills the gateway the moment that the reader of a run has seen such an event: see `cutRuns`. */
export async function cutGateway(killed: Killed, run: CutRun): Promise<GoneOn> {
  const [ended] = await cutRuns(killed, [run]);
  assert.ok(ended);
  return await ended;
}

/**
 * Kills a gateway once each of its runs is where it may be cut; their readers go on behind it, and have the same bytes as
 * others. One kill for all: what a run does on its own behind that place, it has done by then.
 */
async function cutRuns(killed: Killed, runs: readonly CutRun[]): Promise<Promise<GoneOn>[]> {
  await using stack = new AsyncDisposableStack();
  const requests: ProviderRequest[][] = runs.map(() => []);
  const provider = stack.use(
    await startScriptedProvider({
      respond: (request) => {
        const index = Number(/^cut-(\d+)$/.exec(String(request.body.model))?.[1]);
        const own = requests[index];
        const run = runs[index];
        assert.ok(own && run, `nobody asked for ${request.body.model}`);
        return run.respond(request, own.push(request) - 1);
      },
    }),
  );
  const folder = stack.use(await gatewayFolder());
  for (const [path, text] of Object.entries(killed.files ?? {})) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  const storeUrl = killed.storeUrl(folder.path);
  const config = killed.configOf(provider, { storeUrl, folder: folder.path });
  // Each run has a model of its own, so that its requests are known at the provider.
  const models = runs.map(({ body }, index) => {
    const model = config.models[body.model];
    assert.ok(model, `there is no model ${body.model}`);
    return [`cut-${index}`, { ...model, routes: model.routes.map((route) => ({ ...route, model: `cut-${index}` })) }];
  });
  const whole = { ...config, models: Object.fromEntries(models) };
  let gateway: GatewayProcess = await startGatewayProcess(whole, { folder: folder.path });
  stack.defer(() => gateway[Symbol.asyncDispose]());
  const cut = await Promise.all(runs.map((run, index) => readToCut(gateway, run, `cut-${index}`)));
  await gateway.kill();
  gateway = await startGatewayProcess(whole, { folder: folder.path });
  const ended = cut.map(async (each, index) => ({
    response: await readOn(gateway, each),
    requests: requests[index] ?? [],
  }));
  await Promise.allSettled(ended);
  return ended;
}

interface Begun {
  run: CutRun;
  id: string;
  reader: SseReader;
}

async function readToCut(gateway: GatewayProcess, run: CutRun, model: string): Promise<Begun> {
  const body = JSON.stringify({ ...run.body, model, stream: true });
  const reader = await SseReader.open(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body });
  const { seen } = run;
  const [created] = await reader.until((events) =>
    events.some((event) => (typeof seen === 'string' ? event.type === seen : seen(event))),
  );
  assert.ok(created?.type === 'response.created');
  await run.reached;
  return { run, id: created.response.id, reader };
}

async function readOn(gateway: GatewayProcess, { run, id, reader }: Begun): Promise<ResponseObject> {
  await reader.end();
  const after = Number(/.*"sequence_number":(\d+)/s.exec(reader.bytes.toString())?.[1]);
  const path = `${gateway.url}/v1/responses/${id}?stream=true&after=`;
  const rest = await SseReader.open(path + after, { headers: HEADERS });
  run.reopened?.();
  await rest.end();
  const last = rest.events.at(-1);
  if (run.body.store === false) {
    assert.equal((await fetch(`${path}0`, { headers: HEADERS })).status, 404);
    const list = await fetch(`${gateway.url}/v1/responses`, { headers: HEADERS });
    assert.ok(!(await list.text()).includes(id));
    assert.ok(last?.type === 'response.completed', `${last?.type}`);
    return last.response;
  }
  const whole = await SseReader.open(`${path}0`, { headers: HEADERS });
  await whole.end();
  const frames = (bytes: Buffer) => bytes.toString().replace(/^: .*\n\n/gm, '');
  assert.equal(frames(reader.bytes) + frames(rest.bytes), frames(whole.bytes));
  const end = whole.events.at(-1);
  assert.ok(end?.type === 'response.completed', `${end?.type}`);
  return end.response;
}
