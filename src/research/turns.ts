import { GatewayError } from '../base/errors.ts';
import {
  noUsage,
  TurnError,
  type TurnPart,
  type TurnRequest,
  type TurnTool,
  type TurnUsage,
} from '../upstream/turn.ts';
import type { Context } from './context/context.ts';
import { RepetitionWatch } from './guards/repetition.ts';
import { noted, type ResearchRun } from './run/run.ts';
import type { Step } from './run/steps.ts';
import { estimateTokens } from './text/tokens.ts';

/** Asking the model for a turn until it is whole. */

/** Cut turns in a row before the run fails: the routes had their own retries each time. */
const MAX_CUT_TURNS = 6;

export type Finish = Extract<TurnPart, { type: 'finish' }>;

/** The context cannot be made to fit: a wall that a fresh attempt with notes may get around. */
export class ContextWall extends Error {
  override readonly name = 'ContextWall';
}

/** The model repeats itself without end; the turn was stopped. */
export class EndlessRepetition extends Error {
  override readonly name = 'EndlessRepetition';
}

/**
 * One research turn and the estimated size of its request: what the model thinks and says is shown as reasoning. A
 * turn that was cut midway closes its reasoning as incomplete and is asked for again, on the next route (contract
 * section 4); one that did not fit the model's context is asked for again with less.
 * @throws GatewayError where no route can give the turn; ContextWall; EndlessRepetition.
 */
export async function* askModel(
  run: ResearchRun,
  options: { context: Context; tools: readonly TurnTool[]; signal: AbortSignal },
): AsyncGenerator<Step, { finish: Finish; estimate: number }> {
  const { context, tools, signal } = options;
  const { window } = context;
  const tries = { cuts: 0 };
  for (;;) {
    const { messages, estimate } = context.messages([], tools);
    const shown = { text: '' };
    try {
      const maxOutputTokens = Math.max(16, Math.min(run.model.max_completion_tokens, window.roomToWrite(estimate)));
      const request: TurnRequest = { messages, tools, maxOutputTokens, ...sampling(run) };
      const finish = yield* showTurn(run, request, { shown, signal });
      if (!finish.usage.estimated) window.learn(estimate, finish.usage.inputTokens);
      return { finish, estimate };
    } catch (thrown) {
      if (signal.aborted || thrown instanceof EndlessRepetition) {
        yield closeCut(run, { estimate, text: shown.text });
        signal.throwIfAborted();
        throw thrown;
      }
      yield* afterCut(run, { thrown, tries, context, estimate });
    }
  }
}

/** Shows a turn as it comes. */
async function* showTurn(
  run: ResearchRun,
  request: TurnRequest,
  { shown, signal }: { shown: { text: string }; signal: AbortSignal },
): AsyncGenerator<Step, Finish> {
  const repetition = new RepetitionWatch();
  let last: 'reasoning' | 'text' | undefined;
  for await (const part of run.chat.turn(request, { signal })) {
    if (part.type === 'finish') return part;
    if (part.type === 'tool_call') continue;
    const paragraph = last !== undefined && last !== part.type ? '\n\n' : '';
    last = part.type;
    shown.text += part.delta;
    yield { type: 'reasoning', delta: paragraph + part.delta };
    if (repetition.push(part.delta)) throw new EndlessRepetition('the model repeated itself without end');
  }
  throw unfinished();
}

/** A stream that ended without saying why. */
export function unfinished(): TurnError {
  return new TurnError('failed', 'the provider ended its stream without finishing', { started: true });
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

/** The tokens of a turn that nobody counted: of its request, and of the text that came. */
export function estimatedUsage({ estimate, text }: { estimate: number; text: string }): TurnUsage {
  return { ...noUsage(), inputTokens: estimate, outputTokens: estimateTokens(text), estimated: true };
}

/** How often a turn was cut so far. */
export interface Tries {
  cuts: number;
}

/**
 * Notes the tokens of a cut turn and closes its reasoning.
 * @throws GatewayError, ContextWall or what was thrown, where asking again is of no use.
 */
export async function* afterCut(
  run: ResearchRun,
  failure: { thrown: unknown; tries: Tries; context: Context; estimate: number; answerLength?: number },
): AsyncGenerator<Step> {
  const { thrown, tries, context, estimate, answerLength } = failure;
  if (!(thrown instanceof TurnError)) throw thrown;
  const contextOverflow = thrown.kind === 'context_length';
  const entry = noted(run.state, {
    t: 'spent',
    usage: thrown.usage,
    ...(contextOverflow ? { tooLarge: estimate } : {}),
    ...(answerLength === undefined ? {} : { answerLength }),
  });
  yield { type: 'reasoning_end', status: 'incomplete', entry };
  if (contextOverflow) {
    if (!context.window.refused(estimate)) throw new ContextWall(thrown.message, { cause: thrown });
    run.log.info({ estimate, room: context.window.room }, 'the request did not fit the context, asking with less');
    return;
  }
  if (!thrown.started || ++tries.cuts >= MAX_CUT_TURNS) throw toRunError(thrown);
  run.log.warn({ err: thrown.message, cuts: tries.cuts }, 'turn cut, asking again');
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
