import { yieldToEventLoop } from '../base/load/event-loop.ts';
import type { MessagePhase } from '../protocol/items.ts';
import { Continuation } from '../research/answer/continuation.ts';
import { type EmitStep, readLive, splitDelta, stepsOf } from '../research/run/live-steps.ts';
import type { Step } from '../research/run/steps.ts';
import { emitReasoning, type Finish, unfinishedStream } from '../research/turns.ts';
import type { TurnDelta, TurnRequest } from '../upstream/turn.ts';
import type { PlainRun } from './request.ts';

/** What the client has of a response so far. */
export interface ShownSoFar {
  text: string;
  /** What its last message is, and where it begins. */
  phase: MessagePhase | undefined;
  began: number;
  /** How many citations of that. */
  cited: number;
  /** Whether it has a thought of the turn. */
  thought: boolean;
}

/** Streams one turn behind what was written before. */
export async function* showTurn(
  { chat, asked, live, signal }: Pick<PlainRun, 'chat' | 'live' | 'signal'> & { asked: TurnRequest },
  written: ShownSoFar,
): AsyncGenerator<Step, Finish> {
  const continuation = new Continuation(written.text);
  // Another turn goes on with the message that was cut: behind notes with the answer, else with that.
  const isWhole = written.text === '';
  const write = (
    fresh: string,
    take: EmitStep,
    how: Pick<Extract<Step, { type: 'answer' }>, 'logprobs' | 'refuses' | 'phase'> = {},
  ) => {
    if (fresh === '') return;
    if (how.phase !== undefined && how.phase !== written.phase) written.began = written.text.length;
    written.phase = how.phase ?? written.phase;
    written.text += fresh;
    take({ type: 'answer', delta: fresh, ...how });
  };
  // Of the latest text: a short one is held back until it is known to be no repetition.
  let phase: MessagePhase | undefined;
  const show = (part: TurnDelta, take: EmitStep) => {
    const { delta } = part;
    if (part.type === 'text') {
      const fresh = continuation.push(delta);
      // Of a text that was joined to another, nobody knows which tokens are left.
      const { refuses, logprobs } = part;
      phase = isWhole || part.phase === 'final_answer' ? part.phase : undefined;
      const told = fresh === delta && logprobs && { logprobs };
      write(fresh, take, { ...told, ...(refuses && { refuses }), ...(phase && { phase }) });
    }
    // Items do not interleave: what a model thinks after it began to write is not shown.
    else if (written.text === '') {
      written.thought ||= delta !== '';
      emitReasoning(delta, take);
    }
  };
  const pass = readLive(live, show, () => continuation.isDecided);
  for await (const part of chat.turn(asked, { signal, pass })) {
    if (part.type === 'finish') {
      yield* stepsOf((take) => write(continuation.end(), take, phase && { phase }));
      return part;
    }
    if (part.type === 'tool_call') continue;
    let rest: TurnDelta = part;
    for (const delta of splitDelta(part.delta)) {
      yield* stepsOf((take) => show({ ...rest, delta }, take));
      // The tokens of all pieces stand with the first.
      rest = { type: part.type, delta };
      if (delta.length < part.delta.length) await yieldToEventLoop();
    }
  }
  throw unfinishedStream();
}
