import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RunEvent } from '../../src/protocol/events.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from './gateway-process.ts';
import { type ProviderRequest, type Script, startScriptedProvider } from './scripted-provider.ts';
import { SseReader } from './sse-reader.ts';

/** The configuration of the gateway that is killed and started again. */
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

/** A run, and the point at which the gateway may be killed. */
export interface InterruptedRun {
  /** The event that the reader must have seen before the kill. */
  seen: RunEvent['type'] | ((event: RunEvent) => boolean);
  /** Also awaited before the kill. */
  reached?: Promise<void>;
  /** The request without `stream`. */
  body: { model: string; input: unknown; store?: boolean; [field: string]: unknown };
  /** Answers the requests of this run; `n` counts them. */
  respond: (request: ProviderRequest, n: number) => Script | Promise<Script>;
  /** Called once the reader has reconnected. */
  reopened?(): void;
}

/** A run after the restart. */
export interface ResumedRun {
  response: ResponseObject;
  requests: ProviderRequest[];
}

export const KILLED_KEY = 'sk-killed-gateway-0123';
const HEADERS = { authorization: `Bearer ${KILLED_KEY}`, 'content-type': 'application/json' };

/** A test of a run that is interrupted, and the assertions about it after the restart. */
export type InterruptionTest = InterruptedRun & { check(resumed: ResumedRun): void };

/** Registers tests by title. Their runs wait at their points, and one kill of the gateway interrupts all of them. */
export function testInterruptions(killed: Killed, tests: Readonly<Record<string, InterruptionTest>>): void {
  let runs: Promise<ResumedRun>[];
  before(async () => {
    runs = await interruptRuns(killed, Object.values(tests));
  });
  for (const [index, [title, { check }]] of Object.entries(tests).entries()) {
    it(title, async () => {
      const resumed = await runs[index];
      assert.ok(resumed);
      check(resumed);
    });
  }
}

/** Kills the gateway as soon as the run has reached its point, and returns the run after the restart. */
export async function interruptRun(killed: Killed, run: InterruptedRun): Promise<ResumedRun> {
  const [ended] = await interruptRuns(killed, [run]);
  assert.ok(ended);
  return await ended;
}

/**
 * Kills a gateway once every run has reached its point, and starts it again. Checks that the joined streams of a reader
 * that reconnects have the same bytes as one whole stream. The kill waits for all runs, so one that does not block at its
 * point may be past it.
 */
async function interruptRuns(killed: Killed, runs: readonly InterruptedRun[]): Promise<Promise<ResumedRun>[]> {
  await using stack = new AsyncDisposableStack();
  const requests: ProviderRequest[][] = runs.map(() => []);
  const provider = stack.use(
    await startScriptedProvider({
      respond: (request) => {
        const index = Number(/^cut-(\d+)$/.exec(String(request.body.model))?.[1]);
        const requestsOfRun = requests[index];
        const run = runs[index];
        assert.ok(requestsOfRun && run, `nobody asked for ${request.body.model}`);
        return run.respond(request, requestsOfRun.push(request) - 1);
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
  // Each run has a model of its own, by which the provider recognises its requests.
  const models = runs.map(({ body }, index) => {
    const model = config.models[body.model];
    assert.ok(model, `there is no model ${body.model}`);
    return [`cut-${index}`, { ...model, routes: model.routes.map((route) => ({ ...route, model: `cut-${index}` })) }];
  });
  const fullConfig = { ...config, models: Object.fromEntries(models) };
  let gateway: GatewayProcess = await startGatewayProcess(fullConfig, { folder: folder.path });
  stack.defer(() => gateway[Symbol.asyncDispose]());
  const interrupted = await Promise.all(runs.map((run, index) => readToPoint(gateway, run, `cut-${index}`)));
  await gateway.kill();
  gateway = await startGatewayProcess(fullConfig, { folder: folder.path });
  const ended = interrupted.map(async (each, index) => ({
    response: await readRest(gateway, each),
    requests: requests[index] ?? [],
  }));
  await Promise.allSettled(ended);
  return ended;
}

interface StartedRun {
  run: InterruptedRun;
  id: string;
  reader: SseReader;
}

async function readToPoint(gateway: GatewayProcess, run: InterruptedRun, model: string): Promise<StartedRun> {
  const body = JSON.stringify({ ...run.body, model, stream: true });
  const reader = await SseReader.begin(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body });
  const { seen } = run;
  const [created] = await reader.until((events) =>
    events.some((event) => (typeof seen === 'string' ? event.type === seen : seen(event))),
  );
  assert.ok(created?.type === 'response.created');
  await run.reached;
  return { run, id: created.response.id, reader };
}

async function readRest(gateway: GatewayProcess, { run, id, reader }: StartedRun): Promise<ResponseObject> {
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
