import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { answerPart } from '../../src/protocol/items.ts';
import type { ResponseObject } from '../../src/protocol/response.ts';
import { type GatewayProcess, gatewayFolder, startGatewayProcess } from '../support/gateway-process.ts';
import { SseReader } from '../support/sse-reader.ts';
import { patience } from '../support/time-limit.ts';

const KEY = 'sk-load-test';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const RUNS = 40;
/** Well above what these runs take, about 360. */
const MAX_PEAK_MB = 600;

const QUESTIONS = [
  'How does a client resume a dropped stream?',
  'What happens to a run when its instance is killed?',
  'Which budgets does a research run have?',
  'How are sources numbered and cited?',
  'What is a proxy model?',
];

const CONFIG = {
  server: { port: 0 },
  store: { url: 'file:./data' },
  providers: { demo: { builtin: 'demo', pace_ms: 1 } },
  models: { researcher: { kind: 'research', routes: [{ provider: 'demo', model: 'demo' }] } },
  keys: [{ id: 'ann', secret: KEY }],
  tools: { web_search: { provider: 'local', folder: fileURLToPath(new URL('../../docs', import.meta.url)) } },
};

/** A run that was read live from its first byte to its last. */
interface ReadRun {
  id: string;
  bytes: Buffer;
  response: ResponseObject;
}

async function ask(gateway: GatewayProcess, n: number): Promise<ReadRun> {
  const input = `${QUESTIONS[n % QUESTIONS.length]} (${n})`;
  const body = JSON.stringify({ model: 'researcher', input, stream: true });
  const reader = await SseReader.begin(`${gateway.url}/v1/responses`, { method: 'POST', headers: HEADERS, body });
  assert.equal(reader.status, 200);
  const events = await reader.end();
  events.forEach((event, index) => {
    assert.equal(event.sequence_number, index + 1, 'no event is lost or repeated');
  });
  const last = events.at(-1);
  assert.equal(last?.type, 'response.completed', `run ${n} ends in order`);
  return { id: last.response.id, bytes: reader.bytes, response: last.response };
}

async function replay(gateway: GatewayProcess, id: string): Promise<Buffer> {
  const reader = await SseReader.open(`${gateway.url}/v1/responses/${id}?stream=true`, { headers: HEADERS });
  await reader.end();
  return reader.bytes;
}

/** The peak memory of a process, in MiB, as the kernel counts it. */
async function peakMemory(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

describe('forty concurrent research runs on one instance', function () {
  // Each searches and reads.
  this.timeout(patience(60));
  let folder: Awaited<ReturnType<typeof gatewayFolder>>;
  let gateway: GatewayProcess;
  let runs: ReadRun[];
  before(async () => {
    folder = await gatewayFolder();
    gateway = await startGatewayProcess(
      { ...CONFIG, store: { url: `file:${folder.path}/data` } },
      { folder: folder.path },
    );
    runs = await Promise.all(Array.from({ length: RUNS }, (_, n) => ask(gateway, n)));
  });
  after(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('all complete with an answer that cites what they read, or warns what could not be read', () => {
    assert.equal(new Set(runs.map((run) => run.id)).size, RUNS);
    for (const { response } of runs) {
      assert.equal(response.incomplete_details, null);
      const message = response.output.at(-1);
      assert.ok(message?.type === 'message' && message.status === 'completed');
      const citations = answerPart(message)?.annotations ?? [];
      assert.ok(citations.length > 0, response.output_text);
      // On a busy machine a page may take too long to be read. Then the answer says so.
      const unread = citations.filter(({ verified }) => !verified).map(({ url }) => url);
      const warned = (response.warnings ?? []).filter(({ code }) => code === 'source_unreadable');
      for (const url of unread)
        assert.ok(
          warned.some(({ message }) => message.includes(url)),
          `${url} was not read`,
        );
    }
  });

  it('are replayed with exactly the bytes that were streamed live', async () => {
    for (let n = 0; n < RUNS; n += 20) {
      const some = runs.slice(n, n + 20);
      const again = await Promise.all(some.map((run) => replay(gateway, run.id)));
      some.forEach((run, index) => {
        assert.ok(again[index]?.equals(run.bytes), `${run.id} is replayed byte for byte`);
      });
    }
  });

  it('are all listed for their user as completed', async () => {
    const listed = new Set<string>();
    for (let after = ''; ; ) {
      const page = await fetch(`${gateway.url}/v1/responses?limit=100${after}`, { headers: HEADERS });
      const list = (await page.json()) as { data: { id: string; status: string }[]; has_more: boolean };
      for (const entry of list.data) {
        assert.equal(entry.status, 'completed');
        listed.add(entry.id);
      }
      if (!list.has_more) break;
      after = `&after=${list.data.at(-1)?.id}`;
    }
    assert.deepEqual(listed, new Set(runs.map((run) => run.id)));
  });

  it('keep the memory of the process bounded', async function () {
    if (!existsSync('/proc/self/status')) return this.skip();
    const peak = await peakMemory(gateway.child.pid);
    assert.ok(peak < MAX_PEAK_MB, `the process held ${Math.round(peak)} MiB at most`);
  });
});
