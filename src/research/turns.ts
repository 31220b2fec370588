import { yieldToEventLoop } from '../base/load/event-loop.ts';
import { estimatedUsage } from '../upstream/decoding/estimate.ts';
import {
  noUsage,
  type TurnDelta,
  TurnError,
  type TurnMessage,
  type TurnPart,
  type TurnRequest,
  type TurnUsage,
  unfinishedStream,
} from '../upstream/turn.ts';
import { mayShowOf } from './answer/may-show.ts';
import { VisibleReasoning } from './answer/visible-reasoning.ts';
import type { Context } from './context/context.ts';
import { RepetitionWatch } from './guards/repetition.ts';
import { planTail } from './plan/plan-messages.ts';
import { MIN_TURN_OUTPUT } from './run/cost-budget.ts';
import { type EmitStep, readLive, splitDelta, stepsOf } from './run/live-steps.ts';
import { applyEntry, type ResearchRun } from './run/run.ts';
import { toRunError } from './run/run-error.ts';
import type { Step } from './run/steps.ts';

/** Requests model turns, and repeats those that were cut off. */

/** How many times in a row a turn may be cut off before the run fails, however many routes and retries there are. */
const MAX_CUT_TURNS = 6;

/** Whether a turn that was cut off is requested again, after `cuts` cuts in a row. */
export function mayRepeat({ started, maxTries }: TurnError, cuts: number): boolean {
  return started && cuts < Math.min(MAX_CUT_TURNS, maxTries);
}

export type Finish = Extract<TurnPart, { type: 'finish' }>;

/** The context cannot be made to fit. A fresh attempt that starts from notes may still succeed. */
export class ContextOverflow extends Error {
  override readonly name = 'ContextOverflow';
}

/** Another research turn would leave too little of the budget for the answer, or for other lanes. */
export class BudgetExhausted extends Error {
  override readonly name = 'BudgetExhausted';
}

/** The model repeats itself without end; the turn was stopped. */
export class EndlessRepetition extends Error {
  override readonly name = 'EndlessRepetition';
}

/** The messages of the next request. If the context has to be compacted for them, yields the step that stores this. */
export async function* fitMessages(
  run: ResearchRun,
  { context, tail, maxTokens }: { context: Context; tail: readonly TurnMessage[]; maxTokens?: number },
): AsyncGenerator<Step, ReturnType<Context['messages']>> {
  const entry = await context.makeRoom(tail, maxTokens);
  if (entry) {
    run.log.info({ from: entry.from, anew: entry.anew ?? false }, 'context compacted');
    yield { type: 'note', entry: applyEntry(run.state, entry) };
  }
  return context.messages(tail);
}

/** A finished research turn, and the size of its request. */
export interface ModelTurn {
  finish: Finish;
  /** The reasoning that the model streamed. */
  reasoning: string;
  /** The size of the request by the gateway's estimate. */
  estimate: number;
}

/**
 * Runs one research turn and streams what the model thinks and says as reasoning. When a turn is cut midway, its
 * reasoning is closed as incomplete and the turn is requested again on the next route (docs/failover.md, "Until when").
 * When a request does not fit the model's context, a smaller one is sent.
 * @throws GatewayError if no route can give the turn; ContextOverflow; BudgetExhausted; EndlessRepetition.
 */
export async function* askModel(
  run: ResearchRun,
  options: { context: Context; signal: AbortSignal },
): AsyncGenerator<Step, ModelTurn> {
  const { context, signal } = options;
  const { window } = context;
  const tries = { cuts: 0 };
  for (;;) {
    const { messages, estimate, stable } = yield* fitMessages(run, { context, tail: planTail(run) });
    const streamed = { text: '', reasoning: '' };
    const input = window.counted(estimate);
    const affordable = run.costBudget.maxTurnOutput(input);
    if (affordable === undefined) throw new BudgetExhausted('the cost budget is used');
    const allowed = run.allowance.outputFor(input);
    if (allowed < MIN_TURN_OUTPUT) throw new BudgetExhausted('the token budget is used');
    const limit = Math.min(run.model.max_completion_tokens, window.roomToWrite(estimate), affordable, allowed);
    const output = Math.max(16, limit);
    run.allowance.reserve({ tokens: input + output, cost: run.costBudget.costOf({ input, output }) });
    try {
      const request: TurnRequest = {
        messages,
        tools: context.opening.tools,
        ...firstToolChoice(run),
        maxOutputTokens: output,
        ...cacheHints(run, stable),
        ...samplingOf(run),
      };
      const finish = yield* streamReasoningTurn(run, request, { streamed, signal });
      if (!finish.usage.estimated) window.learn(estimate, finish.usage.inputTokens);
      return { finish, reasoning: streamed.reasoning, estimate };
    } catch (thrown) {
      if (signal.aborted || thrown instanceof EndlessRepetition) {
        yield closeStoppedTurn(run, { estimate, text: streamed.text });
        signal.throwIfAborted();
        throw thrown;
      }
      try {
        yield* recordCutTurn(run, { thrown, tries, context, estimate, outputLimit: output });
      } catch (failure) {
        // Later in a run, silence may mean that nothing more is to be looked up: the guards decide.
        if (!(thrown instanceof TurnError && thrown.saysNothing) || run.state.turns === 0) throw failure;
        return { finish: SILENCE, reasoning: '', estimate };
      }
    }
  }
}

/** A turn in which every route gave an empty answer; what it used is recorded already. */
const SILENCE: Finish = {
  type: 'finish',
  reason: 'stop',
  usage: noUsage(),
  message: { role: 'assistant', content: '' },
};

/** The tool choice that the request demands; it holds for the first turn of the response only. */
function firstToolChoice({ state, request }: ResearchRun): Pick<TurnRequest, 'toolChoice'> {
  const isFirst = state.ownTurns === 0 && request.functionChoice !== undefined;
  return isFirst ? { toolChoice: request.functionChoice } : {};
}

async function* streamReasoningTurn(
  run: ResearchRun,
  request: TurnRequest,
  { streamed, signal }: { streamed: { text: string; reasoning: string }; signal: AbortSignal },
): AsyncGenerator<Step, Finish> {
  const repetition = new RepetitionWatch();
  const thoughts = new VisibleReasoning(run.state.sources, mayShowOf(run));
  let last: TurnDelta['type'] | undefined;
  const show = ({ type, delta }: TurnDelta, emit: EmitStep) => {
    const paragraph = last !== undefined && last !== type ? `${thoughts.end()}\n\n` : '';
    last = type;
    streamed.text += delta;
    if (type === 'reasoning') streamed.reasoning += delta;
    emitReasoning(paragraph + thoughts.push(delta), emit);
    if (repetition.push(delta)) throw new EndlessRepetition('the model repeated itself without end');
  };
  for await (const part of run.chat.turn(request, { signal, sink: readLive(run.live, show) })) {
    if (part.type === 'finish') {
      yield* stepsOf((emit) => emitReasoning(thoughts.end(), emit));
      return part;
    }
    if (part.type === 'tool_call') continue;
    for (const delta of splitDelta(part.delta)) {
      yield* stepsOf((emit) => show({ ...part, delta }, emit));
      if (delta.length < part.delta.length) await yieldToEventLoop();
    }
  }
  throw unfinishedStream();
}

/** Emits reasoning text as a step, unless all of it was held back. */
export function emitReasoning(delta: string, emit: EmitStep): void {
  if (delta !== '') emit({ type: 'reasoning', delta });
}

/** Helps providers to cache the prefix that the requests of a run share: its first `stable` messages never change. */
export function cacheHints(
  run: ResearchRun,
  stable: number,
): Pick<TurnRequest, 'cacheKey' | 'stablePrefix' | 'warmRoute'> {
  const { route } = run.state;
  return { cacheKey: run.id, stablePrefix: stable, ...(route ? { warmRoute: route } : {}) };
}

/** The client's sampling parameters, as they go to the provider. */
export function samplingOf({ request }: ResearchRun): Pick<TurnRequest, 'temperature' | 'topP'> {
  return {
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
  };
}

/**
 * What a turn that the gateway stopped has used: as it was observed, else by the text that it wrote. Undefined for nothing.
 * The budgets count it at once, and not only the end of the run.
 */
export function stoppedUsage(
  { state }: Pick<ResearchRun, 'state'>,
  cut: { estimate: number; text: string },
): TurnUsage | undefined {
  return state.spending.unreported()?.usage ?? (cut.text === '' ? undefined : estimatedUsage(cut));
}

/** Closes the reasoning of a turn that the gateway stopped, and charges it. */
function closeStoppedTurn(run: ResearchRun, cut: { estimate: number; text: string }): Step {
  const usage = stoppedUsage(run, cut);
  const entry = usage && applyEntry(run.state, { t: 'spent', usage });
  return { type: 'reasoning_end', status: 'incomplete', ...(entry && { entry }) };
}

/** How much of an answer is written: its length in UTF-16 code units, and the tokens of its latest part. */
export interface AnswerProgress {
  length: number;
  tokens: number;
}

export interface RetryState {
  cuts: number;
}

/**
 * Records the tokens of a cut turn and closes its reasoning. Returns when the turn should be requested again.
 * @throws GatewayError, ContextOverflow or `thrown` itself when another request cannot help.
 */
export async function* recordCutTurn(
  run: ResearchRun,
  failure: {
    thrown: unknown;
    tries: RetryState;
    context: Context;
    estimate: number;
    /** The output limit of the request, in tokens. */
    outputLimit: number;
    answer?: AnswerProgress;
  },
): AsyncGenerator<Step> {
  const { thrown, tries, context, estimate, outputLimit, answer } = failure;
  if (!(thrown instanceof TurnError)) throw thrown;
  const isOverflow = thrown.kind === 'context_length';
  const entry = applyEntry(run.state, {
    t: 'spent',
    usage: thrown.usage,
    ...(isOverflow ? { tooLarge: estimate, asked: outputLimit } : {}),
    ...(answer ? { answerLength: answer.length, answerTokens: answer.tokens } : {}),
  });
  yield { type: 'reasoning_end', status: 'incomplete', entry };
  if (isOverflow) {
    if (!context.window.refused(estimate, outputLimit)) throw new ContextOverflow(thrown.message, { cause: thrown });
    run.log.info({ estimate, room: context.window.room }, 'the request did not fit the context, asking with less');
    return;
  }
  if (!mayRepeat(thrown, ++tries.cuts)) throw toRunError(thrown);
  run.log.warn({ err: thrown.message, cuts: tries.cuts }, 'turn cut, asking again');
}
