import type { RunEvent } from '../../src/protocol/events.ts';
import { decodeFrames } from '../../src/protocol/frames.ts';
import type { ClientSeen, SeenRun } from './clients.ts';
import type { Disruptions } from './disruptions.ts';
import { type AskedTurn, answerOf, CALLS } from './research-world.ts';

/** Everything that is known of one run after a storm. */
export interface RunEvidence {
  n: number;
  id: string;
  part: SeenRun['part'];
  /** Bytes of the whole log, as each instance replays it. */
  replays: readonly Buffer[];
  /** Bytes that each viewer put together. */
  viewed: readonly Buffer[];
  /** What an accepted cancel answered. */
  cancelled: boolean;
  /** The snapshot that `GET` gives. */
  snapshot: { status: string; output: unknown };
  /** When some viewer first saw each tool call done, by its key; Unix milliseconds. */
  doneAt: ReadonlyMap<string, number>;
  /** When some viewer first saw a step's tool calls begin, by its key: its turn was finished and stored by then. */
  turnedAt: ReadonlyMap<string, number>;
  /** When the provider was asked for each step, by its key. */
  asked: ReadonlyMap<string, readonly number[]>;
  /** What the provider was asked and paid for after the client had its whole answer. */
  late: readonly string[];
  /** When each tool call was executed, by its key. */
  executions: ReadonlyMap<string, readonly number[]>;
}

/** What is wrong with a run; nothing where every promise was kept. */
export function faultsOf(run: RunEvidence): string[] {
  const faults: string[] = [];
  const fault = (text: string) => faults.push(`run ${run.n} (${run.id}): ${text}`);
  const [log] = run.replays;
  if (!log) return ['there is no replay'];
  for (const replay of run.replays) if (!replay.equals(log)) fault('two instances replay different bytes');
  for (const viewed of run.viewed) if (!viewed.equals(log)) fault(`a viewer ${difference(viewed, log)}`);
  const events = decodeFrames(log);
  events.forEach((event, index) => {
    if (event.sequence_number !== index + 1) fault(`event ${index + 1} has the number ${event.sequence_number}`);
  });
  const ends = events.filter((event) => event.type === 'response.completed' || event.type === 'response.failed');
  if (ends.length !== 1 || ends[0] !== events.at(-1)) fault(`${ends.length} ends`);
  const end = ends[0];
  if (end && 'response' in end) checkEnd(run, end, { events, fault });
  for (const [key, times] of run.executions) {
    const done = run.doneAt.get(key);
    if (done !== undefined && times.some((time) => time > done)) fault(`call ${key} was executed again after its end`);
  }
  for (const [step, times] of run.asked) {
    const turned = run.turnedAt.get(step);
    if (turned !== undefined && times.some((time) => time > turned))
      fault(`the turn of step ${step} was paid for twice`);
  }
  for (const turn of run.late) fault(`a turn was paid for after its end: ${turn}`);
  return faults;
}

function checkEnd(
  run: RunEvidence,
  end: Extract<RunEvent, { response: unknown }>,
  { events, fault }: { events: RunEvent[]; fault(text: string): void },
): void {
  const { response } = end;
  if (run.cancelled !== (response.status === 'cancelled')) fault(`ended as ${response.status}`);
  if (run.snapshot.status !== response.status) fault(`the snapshot says ${run.snapshot.status}`);
  if (JSON.stringify(run.snapshot.output) !== JSON.stringify(response.output)) fault('the snapshot has other items');
  const deltas = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
  if (deltas !== response.output_text) fault('the deltas do not join to the text');
  if (response.status === 'cancelled') return;
  if (response.status !== 'completed') fault(`ended as ${response.status}: ${response.error?.code}`);
  const text = run.part === 'calls' ? '' : answerOf(run.n);
  if (response.output_text !== text) fault(`has another answer: ${response.output_text}`);
  const calls = response.output.flatMap((item) => (CALL_TYPES.has(item.type) && 'status' in item ? [item.status] : []));
  if (calls.length !== (run.part === 'answer' ? 0 : CALLS) || calls.some((status) => status !== 'completed')) {
    fault(`${calls.length} tool calls: ${calls}`);
  }
}

const CALL_TYPES: ReadonlySet<string> = new Set(['tool_call', 'mcp_call', 'function_call']);

function difference(viewed: Buffer, log: Buffer): string {
  let at = 0;
  while (at < viewed.length && viewed[at] === log[at]) at++;
  return `saw ${viewed.length} bytes of ${log.length}, equal up to ${at}`;
}

/** A request that was on its way when its run was cancelled is closed by then, in milliseconds. */
const CLOSED_MS = 500;

/** Whether a turn was asked for after the end of its run, by somebody who did not know of the end. */
export function isPaidLate({ at, endedAt = Date.now(), left = false }: AskedTurn, goneAt: number): boolean {
  return at > goneAt && !(left && endedAt - at < CLOSED_MS);
}

/** A turn as it is told. */
export function toldOf({ instance, step, at, endedAt = Date.now(), left = false }: AskedTurn, goneAt: number): string {
  return `step ${step}, asked by ${instance} ${at - goneAt} ms after it, ${left ? 'left' : 'whole'} after ${endedAt - at} ms`;
}

/** An instance that stood still until so long before the client left is not to blame, in milliseconds. */
const GRACE_MS = 250;

/** What is wrong with a chat: its provider must not be paid for long once the client has gone. */
export function faultsOfLeft(
  { n, goneAt, ending }: Pick<ClientSeen, 'n' | 'goneAt' | 'ending'>,
  options: { turns: readonly AskedTurn[]; leaveMs: number | undefined; disruptions: Disruptions },
): string[] {
  const { turns, leaveMs, disruptions } = options;
  if (leaveMs === undefined) return [];
  return turns.flatMap(({ instance, at, endedAt = Date.now() }) => {
    const paidMs = endedAt - Math.max(at, goneAt);
    if (endedAt <= goneAt || paidMs <= leaveMs) return [];
    if (disruptions.stoodStill(instance, goneAt - GRACE_MS, endedAt)) return [];
    const late = at > goneAt ? `, asked ${at - goneAt} ms after it` : '';
    return [
      `client ${n}: a turn was paid for ${paidMs} ms by ${instance} after its chat was left${late} (${ending})`,
      ...disruptions.around({ ms: 0, until: endedAt }),
    ];
  });
}
