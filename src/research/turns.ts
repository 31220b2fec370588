import { GatewayError } from '../base/errors.ts';
import {
  noUsage,
  TurnError,
  type TurnMessage,
  type TurnPart,
  type TurnRequest,
  type TurnTool,
} from '../upstream/turn.ts';
import type { Context } from './context.ts';
import { RepetitionWatch } from './repetition.ts';
import { noted, type ResearchRun } from './run.ts';
import type { Step } from './steps.ts';
import { estimateTokens } from './tokens.ts';

/** Asking the model for a turn until it is whole. */

/** Cut turns in a row before the run fails: the routes had their own retries each time. */
const MAX_CUT_TURNS = 6;

export type Finish = Extract<TurnPart, { type: 'finish' }>;

/** A finished research turn, and what else is to be known of it. */
export interface AskedTurn {
  finish: Finish;
  thought: boolean;
  /** Estimated tokens of its request. */
  estimate: number;
}

/** The context cannot be made to fit: a wall that a fresh attempt with notes may get around. */
export class ContextWall extends Error {
  override readonly name = 'ContextWall';
}

/** The model repeats itself without end; the turn was stopped. */
export class EndlessRepetition extends Error {
  override readonly name = 'EndlessRepetition';
}

/**
 * One research turn: what the model thinks and says is shown as reasoning. A turn that was cut midway closes its
 * reasoning as incomplete and is asked for again, on the next route (contract section 4); one that did not fit the
 * model's context is compacted and asked for again.
 * @throws GatewayError where no route can give the turn; ContextWall; EndlessRepetition.
 */
export async function* askModel(
  run: ResearchRun,
  options: { context: Context; tail: readonly TurnMessage[]; tools: readonly TurnTool[]; signal: AbortSignal },
): AsyncGenerator<Step, AskedTurn> {
  const { context, tail, tools, signal } = options;
  for (let cuts = 0; ; ) {
    const { messages, estimate } = context.messages(tail, tools);
    const shown = { text: '', thought: false };
    try {
      const request: TurnRequest = { messages, tools, ...sampling(run) };
      const finish = yield* showTurn(run, request, { shown, signal });
      if (!finish.usage.estimated) context.window.learn(estimate, finish.usage.inputTokens);
      return { finish, thought: shown.thought, estimate };
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EndlessRepetition) {
        yield closeCut(run, { inputTokens: estimate, text: shown.text });
        throw thrown;
      }
      cuts++;
      yield* afterCut(run, { thrown, cuts, context });
    }
  }
}

/** Shows a turn as it comes. */
async function* showTurn(
  run: ResearchRun,
  request: TurnRequest,
  { shown, signal }: { shown: { text: string; thought: boolean }; signal: AbortSignal },
): AsyncGenerator<Step, Finish> {
  const repetition = new RepetitionWatch();
  let last: 'reasoning' | 'text' | undefined;
  for await (const part of run.chat.turn(request, { signal })) {
    if (part.type === 'finish') return part;
    if (part.type === 'tool_call') continue;
    const paragraph = last !== undefined && last !== part.type ? '\n\n' : '';
    last = part.type;
    shown.text += part.delta;
    shown.thought ||= part.type === 'reasoning';
    yield { type: 'reasoning', delta: paragraph + part.delta };
    if (repetition.push(part.delta)) throw new EndlessRepetition('the model repeated itself without end');
  }
  throw new TurnError('failed', 'the provider ended its stream without finishing', { started: true });
}

/** The sampling parameters of the request, passed to the provider. */
export function sampling({ request }: ResearchRun): Pick<TurnRequest, 'temperature' | 'topP'> {
  return {
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
  };
}

/** Closes the reasoning of a turn that this side stopped; what it cost is estimated. */
export function closeCut(run: ResearchRun, spent: { inputTokens: number; text: string }): Step {
  const usage = {
    ...noUsage(),
    inputTokens: spent.inputTokens,
    outputTokens: estimateTokens(spent.text),
    estimated: true,
  };
  return { type: 'reasoning_end', status: 'incomplete', entry: noted(run.state, { t: 'spent', usage }) };
}

/**
 * Notes the tokens of a cut turn and closes its reasoning.
 * @throws GatewayError, ContextWall or what was thrown, where asking again is of no use.
 */
export async function* afterCut(
  run: ResearchRun,
  { thrown, cuts, context }: { thrown: unknown; cuts: number; context: Context },
): AsyncGenerator<Step> {
  if (!(thrown instanceof TurnError)) throw thrown;
  const entry = noted(run.state, { t: 'spent', usage: thrown.usage });
  yield { type: 'reasoning_end', status: 'incomplete', entry };
  if (thrown.kind === 'context_length') {
    if (!context.window.shrink()) throw new ContextWall(thrown.message, { cause: thrown });
    run.log.info({ room: context.window.room }, 'the request did not fit the context, asking with less');
    return;
  }
  if (!thrown.started || cuts >= MAX_CUT_TURNS) throw toRunError(thrown);
  run.log.warn({ err: thrown.message, cuts }, 'turn cut, asking again');
}

/** A failed turn in the codes of contract section 3.2. */
export function toRunError(error: TurnError): GatewayError {
  const options = { cause: error, ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }) };
  switch (error.kind) {
    case 'timeout':
      return new GatewayError('upstream_timeout', error.message, options);
    case 'rate_limit':
      return new GatewayError('rate_limit_exceeded', error.message, options);
    case 'context_length':
      return new GatewayError('context_length_exceeded', error.message, options);
    case 'refused':
    case 'failed':
      return new GatewayError('upstream_error', error.message, options);
  }
}
