import type { TranscriptEntry } from '../research/run/transcript.ts';
import type { Finish } from '../research/turns.ts';
import { type AssistantMessage, TurnError, type TurnMessage } from '../upstream/turn.ts';
import { compactedThread } from './compaction.ts';
import type { PlainRun } from './request.ts';

/**
 * A conversation with what the turns of a response said and were told behind it, as their provider wants it back: each call
 * with its result behind it. What was summed up stands as its summary.
 */
export function threadOf(messages: readonly TurnMessage[], entries: readonly TranscriptEntry[]): TurnMessage[] {
  const results = new Map(entries.flatMap((entry) => (entry.t === 'result' ? [[entry.call, entry.result]] : [])));
  let thread = [...messages];
  for (const entry of entries) {
    if (entry.t === 'compacted') thread = compactedThread(thread, entry.summary);
    if (entry.t !== 'turn') continue;
    const told = entry.calls.map((planned): TurnMessage => {
      const content = 'refused' in planned ? planned.refused : (results.get(planned.call) ?? '');
      return { role: 'tool', tool_call_id: planned.id, content };
    });
    thread.push(entry.message, ...told);
  }
  return thread;
}

/** All that was said, here and before, behind the instructions. */
export function thread(run: Pick<PlainRun, 'request' | 'state'>): TurnMessage[] {
  const { instructions, messages } = run.request;
  const said = threadOf(messages, run.state.entries);
  return instructions === null ? said : [{ role: 'system', content: instructions }, ...said];
}

/** @throws TurnError for a turn that came to nothing, such as a call of a tool without a name. */
export function requireOutput(
  { reason, usage }: Finish,
  { message, thought }: { message: AssistantMessage; thought: boolean },
): void {
  const isEmpty = message.content === '' && !message.tool_calls?.length && !thought && message.replay === undefined;
  if (isEmpty && reason === 'stop') throw new TurnError('failed', 'the answer is empty', { started: true, usage });
}
