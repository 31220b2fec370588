import type { TranscriptEntry } from '../research/run/transcript.ts';
import type { Finish } from '../research/turns.ts';
import { type AssistantMessage, TurnError, type TurnMessage } from '../upstream/turn.ts';
import { compactedThread } from './compaction.ts';
import type { PlainRun } from './request.ts';

/**
 * A conversation followed by the turns of a response, as their provider wants them back: each call is followed by its
 * result. A compacted part is replaced by its summary.
 */
export function threadOf(messages: readonly TurnMessage[], entries: readonly TranscriptEntry[]): TurnMessage[] {
  const results = new Map(entries.flatMap((entry) => (entry.t === 'result' ? [[entry.call, entry.result]] : [])));
  let thread = [...messages];
  for (const entry of entries) {
    if (entry.t === 'compacted') thread = compactedThread(thread, entry.summary);
    if (entry.t !== 'turn') continue;
    const toolMessages = entry.calls.map((planned): TurnMessage => {
      const content = 'refused' in planned ? planned.refused : (results.get(planned.call) ?? '');
      return { role: 'tool', tool_call_id: planned.id, content };
    });
    thread.push(entry.message, ...toolMessages);
  }
  return thread;
}

/** The whole thread: the instructions, the conversation and the turns of this response. */
export function thread(run: Pick<PlainRun, 'request' | 'state'>): TurnMessage[] {
  const { instructions, messages } = run.request;
  const messagesSoFar = threadOf(messages, run.state.entries);
  return instructions === null ? messagesSoFar : [{ role: 'system', content: instructions }, ...messagesSoFar];
}

/** @throws TurnError for a turn without any output. */
export function requireOutput(
  { reason, usage }: Finish,
  { message, thought }: { message: AssistantMessage; thought: boolean },
): void {
  const isSilent = message.content === '' && !message.tool_calls?.length && !message.images;
  const isEmpty = isSilent && !thought && message.replay === undefined;
  if (isEmpty && reason === 'stop') throw new TurnError('failed', 'the answer is empty', { started: true, usage });
}
