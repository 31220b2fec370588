import { yieldToEventLoop } from '../base/load/event-loop.ts';
import type { MessagePhase } from '../protocol/items.ts';
import { Continuation } from '../research/answer/continuation.ts';
import { type EmitStep, readLive, splitDelta, stepsOf } from '../research/run/live-steps.ts';
import type { Step } from '../research/run/steps.ts';
import { Unfenced } from '../research/text/unfenced.ts';
import { emitReasoning, type Finish } from '../research/turns.ts';
import { type TurnDelta, type TurnRequest, unfinishedStream } from '../upstream/turn.ts';
import type { PlainRun } from './request.ts';

/** The part of a response that the client has so far. */
export interface SentSoFar {
  text: string;
  /** The phase of its last message, and where that message starts in `text`. */
  phase: MessagePhase | undefined;
  messageStart: number;
  /** How many citations of that message were sent. */
  citationsSent: number;
  /** Whether reasoning of the current turn was sent. */
  thought: boolean;
}

/** How an answer in JSON starts, in a fence or not. */
const JSON_START = /^\s*[[{"`]/;
/** What is said before calls is shorter, in UTF-16 code units: a longer text is an answer. */
const MAX_PROSE = 8000;

/**
 * Streams one turn, as a continuation of what was written before. If the answer is to be JSON, what a model says before it
 * calls tools is reasoning: clients parse each message.
 */
export async function* streamTurn(
  { chat, request, live, signal }: Pick<PlainRun, 'chat' | 'live' | 'signal'> & { request: TurnRequest },
  written: SentSoFar,
): AsyncGenerator<Step, Finish> {
  const continuation = new Continuation(written.text);
  // A continued turn stays in the message that was cut off, unless it goes from commentary to the final answer.
  const isWhole = written.text === '';
  const unfenced = isWhole && request.responseFormat ? new Unfenced('json') : undefined;
  // Empty lines before the text, which many models also write before thoughts and calls.
  let lead = '';
  const write = (
    fresh: string,
    emit: EmitStep,
    how: Pick<Extract<Step, { type: 'answer' }>, 'logprobs' | 'refuses' | 'phase'> = {},
  ) => {
    lead += fresh;
    if (written.text === '' && fresh.trim() === '' && !how.logprobs) return;
    const delta = lead;
    lead = '';
    if (delta === '') return;
    if (how.phase !== undefined && how.phase !== written.phase) written.messageStart = written.text.length;
    written.phase = how.phase ?? written.phase;
    written.text += delta;
    emit({ type: 'answer', delta, ...how });
  };
  // The start of a text that is no JSON: it may precede calls, or turn out to be thoughts.
  let prose = unfenced && '';
  // The phase of the latest text, which may still be held back until it is known to be no repetition.
  let phase: MessagePhase | undefined;
  const show = (part: TurnDelta, emit: EmitStep) => {
    let { delta } = part;
    if (part.type === 'text') {
      if (prose !== undefined) {
        delta = prose + delta;
        const isHeld = delta.length < MAX_PROSE && !JSON_START.test(delta) && !part.refuses && !part.phase;
        prose = isHeld ? delta : undefined;
        if (isHeld) return;
      }
      const fresh = unfenced?.push(delta) ?? continuation.push(delta);
      // If only a part of the delta is new, its log probabilities cannot be assigned any more.
      const { refuses, logprobs } = part;
      phase = isWhole || part.phase === 'final_answer' ? part.phase : undefined;
      const withLogprobs = fresh === part.delta && logprobs && { logprobs };
      write(fresh, emit, { ...withLogprobs, ...(refuses && { refuses }), ...(phase && { phase }) });
    }
    // Items do not interleave: reasoning that comes after the first text is dropped.
    else if (written.text === '') {
      written.thought ||= delta !== '';
      emitReasoning(delta, emit);
    }
  };
  const sink = readLive(live, show, () => continuation.isDecided);
  for await (const part of chat.turn(request, { signal, sink })) {
    if (part.type === 'finish') {
      const held = prose ?? '';
      const { content, tool_calls: calls } = part.message;
      const answer = calls?.length ? '' : held.endsWith(content) ? content : held;
      const thoughts = held.slice(0, held.length - answer.length);
      yield* stepsOf((emit) => {
        if (thoughts.trim() !== '') emitReasoning(written.thought ? `\n\n${thoughts}` : thoughts, emit);
        write(unfenced?.push(answer) ?? answer, emit);
        write(unfenced?.end() ?? continuation.end(), emit, phase && { phase });
      });
      written.thought ||= thoughts.trim() !== '';
      return part;
    }
    if (part.type === 'tool_call') continue;
    let rest: TurnDelta = part;
    for (const delta of splitDelta(part.delta)) {
      yield* stepsOf((emit) => show({ ...rest, delta }, emit));
      // The log probabilities of the whole delta go with its first piece.
      rest = { type: part.type, delta };
      if (delta.length < part.delta.length) await yieldToEventLoop();
    }
  }
  throw unfinishedStream();
}
