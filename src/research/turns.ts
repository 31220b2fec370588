import { yieldToEventLoop } from '../base/load/event-loop.ts';
import { estimatedUsage } from '../upstream/decoding/estimate.ts';
import { type TurnDelta, TurnError, type TurnMessage, type TurnPart, type TurnRequest } from '../upstream/turn.ts';
import { mayShowOf } from './answer/may-show.ts';
import { ShownThoughts } from './answer/shown-thoughts.ts';
import type { Context } from './context/context.ts';
import { RepetitionWatch } from './guards/repetition.ts';
import { planTail } from './plan/plan-messages.ts';
import { piecesOf, readLive, stepsOf, type TakeStep } from './run/live-steps.ts';
import { LEAST_TURN } from './run/money.ts';
import { noted, type ResearchRun } from './run/run.ts';
import { toRunError } from './run/run-error.ts';
import type { Step } from './run/steps.ts';

/** Asking the model for a turn until it is whole. */

/** Cut turns in a row before the run fails, however many routes and retries there are. */
const MAX_CUT_TURNS = 6;

/** Whether a turn that was cut is asked for again, after so many cuts. Nothing that was asked for the same again has another answer. */
export function mayRepeat({ started, mostTries }: TurnError, cuts: number): boolean {
  return started && cuts < Math.min(MAX_CUT_TURNS, mostTries);
}

export type Finish = Extract<TurnPart, { type: 'finish' }>;

/** The context cannot be made to fit: a wall that a fresh attempt with notes may get around. */
export class ContextWall extends Error {
  override readonly name = 'ContextWall';
}

/** A further research turn would leave too little for the answer, or for other lanes. */
export class CostLimit extends Error {
  override readonly name = 'CostLimit';
}

/** The model repeats itself without end; the turn was stopped. */
export class EndlessRepetition extends Error {
  override readonly name = 'EndlessRepetition';
}

/** The messages of the next request, with room made for them where that is due: a step to be stored before it is sent. */
export async function* fittedMessages(
  run: ResearchRun,
  { context, tail, most }: { context: Context; tail: readonly TurnMessage[]; most?: number },
): AsyncGenerator<Step, ReturnType<Context['messages']>> {
  const entry = await context.makeRoom(tail, most);
  if (entry) {
    run.log.info({ from: entry.from, anew: entry.anew ?? false }, 'room was made in the context');
    yield { type: 'note', entry: noted(run.state, entry) };
  }
  return context.messages(tail);
}

/** What a research turn gave, and what its request was. */
export interface AskedTurn {
  finish: Finish;
  /** What the model thought and said, as it was shown. */
  reasoning: string;
  /** The size of the request by the gateway's estimate. */
  estimate: number;
}

/**
 * One research turn and the estimated size of its request: what the model thinks and says is shown as reasoning. A
 * turn that was cut midway closes its reasoning as incomplete and is asked for again, on the next
 * route (docs/failover.md, "Until when"); one that did not fit the model's context is asked for again with less.
 * @throws GatewayError where no route can give the turn; ContextWall; CostLimit; EndlessRepetition.
 */
export async function* askModel(
  run: ResearchRun,
  options: { context: Context; signal: AbortSignal },
): AsyncGenerator<Step, AskedTurn> {
  const { context, signal } = options;
  const { window } = context;
  const tries = { cuts: 0 };
  for (;;) {
    const { messages, estimate, stable } = yield* fittedMessages(run, { context, tail: planTail(run) });
    const shown = { text: '', reasoning: '' };
    const input = window.counted(estimate);
    const affordable = run.purse.turnTokens(input);
    if (affordable === undefined) throw new CostLimit('the cost budget is used');
    const within = run.allowance.outputFor(input);
    if (within < LEAST_TURN) throw new CostLimit('the token budget is used');
    const most = Math.min(run.model.max_completion_tokens, window.roomToWrite(estimate), affordable, within);
    const output = Math.max(16, most);
    run.allowance.hold({ tokens: input + output, cost: run.purse.costOf({ input, output }) });
    try {
      const request: TurnRequest = {
        messages,
        tools: context.opening.tools,
        ...demanded(run),
        maxOutputTokens: output,
        ...hints(run, stable),
        ...sampling(run),
      };
      const finish = yield* showTurn(run, request, { shown, signal });
      if (!finish.usage.estimated) window.learn(estimate, finish.usage.inputTokens);
      return { finish, reasoning: shown.reasoning, estimate };
    } catch (thrown) {
      if (signal.aborted || thrown instanceof EndlessRepetition) {
        yield closeCut(run, { estimate, text: shown.text });
        signal.throwIfAborted();
        throw thrown;
      }
      yield* afterCut(run, { thrown, tries, context, estimate, asked: output });
    }
  }
}

/** What the first turn of the response has to call. */
function demanded({ state, request }: ResearchRun): Pick<TurnRequest, 'toolChoice'> {
  const isFirst = state.ownTurns === 0 && request.functionChoice !== undefined;
  return isFirst ? { toolChoice: request.functionChoice } : {};
}

async function* showTurn(
  run: ResearchRun,
  request: TurnRequest,
  { shown, signal }: { shown: { text: string; reasoning: string }; signal: AbortSignal },
): AsyncGenerator<Step, Finish> {
  const repetition = new RepetitionWatch();
  const thoughts = new ShownThoughts(run.state.sources, mayShowOf(run));
  let last: TurnDelta['type'] | undefined;
  const show = ({ type, delta }: TurnDelta, take: TakeStep) => {
    const paragraph = last !== undefined && last !== type ? `${thoughts.end()}\n\n` : '';
    last = type;
    shown.text += delta;
    if (type === 'reasoning') shown.reasoning += delta;
    takeReasoning(paragraph + thoughts.push(delta), take);
    if (repetition.push(delta)) throw new EndlessRepetition('the model repeated itself without end');
  };
  for await (const part of run.chat.turn(request, { signal, pass: readLive(run.live, show) })) {
    if (part.type === 'finish') {
      yield* stepsOf((take) => takeReasoning(thoughts.end(), take));
      return part;
    }
    if (part.type === 'tool_call') continue;
    for (const delta of piecesOf(part.delta)) {
      yield* stepsOf((take) => show({ ...part, delta }, take));
      if (delta.length < part.delta.length) await yieldToEventLoop();
    }
  }
  throw unfinished();
}

/** Thoughts that were held back give no step. */
export function takeReasoning(delta: string, take: TakeStep): void {
  if (delta !== '') take({ type: 'reasoning', delta });
}

/** A stream that ended without saying why. */
export function unfinished(): TurnError {
  return new TurnError('failed', 'the provider ended its stream without finishing', { started: true });
}

/** What helps providers to find the prefix that requests of a run share, of which `stable` messages stay as they are. */
export function hints(run: ResearchRun, stable: number): Pick<TurnRequest, 'cacheKey' | 'stablePrefix' | 'warmRoute'> {
  const { route } = run.state;
  return { cacheKey: run.id, stablePrefix: stable, ...(route ? { warmRoute: route } : {}) };
}

/** The sampling parameters of the request, passed to the provider. */
export function sampling({ request }: ResearchRun): Pick<TurnRequest, 'temperature' | 'topP'> {
  return {
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
  };
}

/** Closes the reasoning of a turn that this side stopped, if it had begun; what it cost is estimated. */
export function closeCut(run: ResearchRun, cut: { estimate: number; text: string }): Step {
  if (cut.text === '') return { type: 'reasoning_end', status: 'incomplete' };
  const entry = noted(run.state, { t: 'spent', usage: estimatedUsage(cut) });
  return { type: 'reasoning_end', status: 'incomplete', entry };
}

/** How far an answer was written: its length in UTF-16 code units, and the tokens of the part that came last. */
export interface CountedPart {
  length: number;
  tokens: number;
}

export interface Tries {
  cuts: number;
}

/**
 * Notes the tokens of a cut turn and closes its reasoning.
 * @throws GatewayError, ContextWall or what was thrown, where asking again is of no use.
 */
export async function* afterCut(
  run: ResearchRun,
  failure: {
    thrown: unknown;
    tries: Tries;
    context: Context;
    estimate: number;
    /** The most that the model might have written, in tokens. */
    asked: number;
    answer?: CountedPart;
  },
): AsyncGenerator<Step> {
  const { thrown, tries, context, estimate, asked, answer } = failure;
  if (!(thrown instanceof TurnError)) throw thrown;
  const contextOverflow = thrown.kind === 'context_length';
  const entry = noted(run.state, {
    t: 'spent',
    usage: thrown.usage,
    ...(contextOverflow ? { tooLarge: estimate, asked } : {}),
    ...(answer ? { answerLength: answer.length, answerTokens: answer.tokens } : {}),
  });
  yield { type: 'reasoning_end', status: 'incomplete', entry };
  if (contextOverflow) {
    if (!context.window.refused(estimate, asked)) throw new ContextWall(thrown.message, { cause: thrown });
    run.log.info({ estimate, room: context.window.room }, 'the request did not fit the context, asking with less');
    return;
  }
  if (!mayRepeat(thrown, ++tries.cuts)) throw toRunError(thrown);
  run.log.warn({ err: thrown.message, cuts: tries.cuts }, 'turn cut, asking again');
}
