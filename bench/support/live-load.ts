import { Agent, request } from 'undici';
import { cpuMicros, rssMb } from './measure.ts';
import { KEY, type Target } from './processes.ts';

const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

export interface LiveLoad {
  path: string;
  streams: number;
  /** Deltas of each stream. */
  deltas: number;
  /** Further fields of the body. */
  fields?: object;
  /** Whether a stream may be refused with `overloaded`; any other failure ends the benchmark. */
  mayRefuse?: boolean;
}

/** What many live streams gave. */
export interface LiveResult {
  /** Milliseconds from the provider's sending to our receiving, of every delta. */
  delays: number[];
  cpuPerDelta: number;
  redisCpuPerDelta: number;
  /** KiB by which the process grew, for each stream. */
  kbPerStream: number;
  admitted: number;
  refused: number;
  seconds: number;
}

/** Opens all streams at once and reads them to their end, checking that every delta of every admitted one comes. */
export async function liveLoad(
  target: Target & { redisPid?: number | undefined },
  load: LiveLoad,
): Promise<LiveResult> {
  const cpu = cpuMicros(target.pid);
  const redisCpu = target.redisPid ? cpuMicros(target.redisPid) : 0;
  const idle = rssMb(target.pid);
  let most = idle;
  const watch = setInterval(() => {
    most = Math.max(most, rssMb(target.pid));
  }, 500);
  const began = performance.now();
  const dispatcher = new Agent({ connections: load.streams, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const delays: number[] = [];
  let refused = 0;
  try {
    await Promise.all(
      Array.from({ length: load.streams }, async () => {
        if (!(await readOne(target.url, { load, dispatcher, delays }))) refused++;
      }),
    );
  } finally {
    clearInterval(watch);
    await dispatcher.close();
  }
  const count = Math.max(1, delays.length);
  return {
    delays,
    cpuPerDelta: (cpuMicros(target.pid) - cpu) / count,
    redisCpuPerDelta: target.redisPid ? (cpuMicros(target.redisPid) - redisCpu) / count : 0,
    kbPerStream: ((most - idle) * 1024) / load.streams,
    admitted: load.streams - refused,
    refused,
    seconds: (performance.now() - began) / 1000,
  };
}

/** False where the stream was refused. */
async function readOne(
  url: string,
  { load, dispatcher, delays }: { load: LiveLoad; dispatcher: Agent; delays: number[] },
): Promise<boolean> {
  const body = JSON.stringify({
    model: 'bench',
    ...(load.path.endsWith('/chat/completions')
      ? { messages: [{ role: 'user', content: 'Go.' }] }
      : { input: 'Go.', tool_choice: 'none' }),
    stream: true,
    ...load.fields,
  });
  const response = await request(url + load.path, { method: 'POST', headers: HEADERS, body, dispatcher });
  if (response.statusCode === 503 && load.mayRefuse) {
    await response.body.dump();
    return false;
  }
  let received = 0;
  let rest = '';
  for await (const chunk of response.body.setEncoding('utf8')) {
    const now = performance.timeOrigin + performance.now();
    rest += chunk;
    const whole = rest.lastIndexOf('\n\n') + 2;
    // Deltas only: the whole text comes once more when a run ends.
    for (const line of rest.slice(0, whole).split('\n')) {
      if (!line.includes('"delta":')) continue;
      for (const [, sent] of line.matchAll(/@(\d+\.\d+) /g)) {
        received++;
        delays.push(now - Number(sent));
      }
    }
    rest = rest.slice(whole);
  }
  if (received !== load.deltas) throw new Error(`${received} deltas of ${load.deltas} came (${response.statusCode})`);
  return true;
}
