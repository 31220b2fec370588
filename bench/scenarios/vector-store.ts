import { cpuMicros, cpuOfChildren, quantile } from '../support/measure.ts';
import type { BenchOptions } from '../support/options.ts';
import { type GatewayTarget, KEY, startGateway } from '../support/processes.ts';
import type { Row } from '../support/scoreboard.ts';
import { word } from '../support/words.ts';

/** One vector store of many files: reading them, and searching it meanwhile and afterwards. */

const FILE_BYTES = 100_000;
const AT_ONCE = 8;
const BATCH = 500;
const QUERY_MS = 100;
const QUERIES = 200;

export async function vectorStore({ files: count }: BenchOptions): Promise<Row[]> {
  await using gateway = await startGateway({ models: {}, providers: { demo: { builtin: 'demo' } } });
  const ask = asking(gateway);
  const ids: string[] = [];
  for (let at = 0; at < count; at += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - at) }, (_, n) => upload(gateway, at + n));
    ids.push(...(await Promise.all(some)));
  }
  const { id } = await ask('/v1/vector_stores', {});
  const began = performance.now();
  const { pid } = gateway;
  const cpu = () => (cpuMicros(pid) + cpuOfChildren(pid)) / 1e6;
  const cpuBefore = cpu();
  for (let at = 0; at < count; at += BATCH) {
    const files = ids.slice(at, at + BATCH).map((file_id, n) => ({ file_id, attributes: { part: (at + n) % 10 } }));
    await ask(`/v1/vector_stores/${id}/file_batches`, { files });
  }
  const query = async (n: number, filters?: object) => {
    const asked = performance.now();
    await ask(`/v1/vector_stores/${id}/search`, { query: queryOf(n, count), filters });
    return performance.now() - asked;
  };
  // What the machine takes for any request at all: it may have much else to do.
  const alive = async () => {
    const asked = performance.now();
    await (await fetch(`${gateway.url}/healthz`)).text();
    return performance.now() - asked;
  };
  const during: number[] = [];
  const aliveDuring: number[] = [];
  for (let n = 0; ; n++) {
    during.push(await query(n));
    aliveDuring.push(await alive());
    const { file_counts } = await ask(`/v1/vector_stores/${id}`);
    if (file_counts.in_progress === 0) break;
    await new Promise((resolve) => setTimeout(resolve, QUERY_MS));
  }
  const seconds = (performance.now() - began) / 1000;
  const cpuRead = cpu() - cpuBefore;
  const after: number[] = [];
  const filtered: number[] = [];
  const ownBefore = cpuMicros(pid);
  for (let n = 0; n < QUERIES; n++) {
    after.push(await query(n));
    filtered.push(await query(n, { type: 'eq', key: 'part', value: n % 10 }));
  }
  const what = `vector store of ${count} files, ${Math.round((count * FILE_BYTES) / 1e6)} MB`;
  const row = (name: string, unit: string, value: number, atMost?: number): Row => ({
    what: `${what}, ${name}`,
    unit,
    ours: [value],
    ...(atMost !== undefined && { goal: { atMost } }),
  });
  return [
    row('read', 's', seconds),
    row('CPU of reading them with queries meanwhile, for 10 000 such files', 's', (cpuRead / count) * 10_000, 600),
    row('query while it grows', 'p50 ms', quantile(during, 0.5), 20),
    row('query while it grows', 'p99 ms', quantile(during, 0.99), 60),
    row('/healthz while it grows', 'p50 ms', quantile(aliveDuring, 0.5)),
    row('/healthz while it grows', 'p99 ms', quantile(aliveDuring, 0.99)),
    row('query', 'p50 ms', quantile(after, 0.5), 20),
    row('query', 'p99 ms', quantile(after, 0.99), 60),
    row('CPU of a query', 'ms', (cpuMicros(pid) - ownBefore) / QUERIES / 2 / 1000),
    row('query with a filter', 'p50 ms', quantile(filtered, 0.5)),
    row('query with a filter', 'p99 ms', quantile(filtered, 0.99)),
  ];
}

const HEADERS = { authorization: `Bearer ${KEY}` };

function asking({ url }: GatewayTarget) {
  return async (path: string, body?: object) => {
    const answer = await fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { ...HEADERS, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  };
}

async function upload({ url }: GatewayTarget, at: number): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob([textOf(at)]), `${at}.md`);
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers: HEADERS, body: form });
  return String(JSON.parse(await answer.text()).id);
}

function textOf(at: number): string {
  const lines = [`# ${word(at * 17)} ${word(at * 19)}`];
  let bytes = 0;
  for (let n = 0; bytes < FILE_BYTES; n += 100) {
    const line = Array.from({ length: 100 }, (_, k) => word(at * 131 + (n + k) * 7)).join(' ');
    lines.push(line);
    bytes += line.length;
  }
  return lines.join('\n\n');
}

function queryOf(n: number, count: number): string {
  const at = (n * 7919) % count;
  return `what is the ${word(at * 131 + 21)} and ${word(at * 131 + 350)} of ${word(at * 17)}`;
}
