import { GatewayError } from '../base/errors.ts';
import { TurnError, type TurnPart, type TurnRequest } from '../upstream/turn.ts';
import { noted, type ResearchRun } from './run.ts';
import type { Step } from './steps.ts';

/** Asking the model for a turn until it is whole. */

/** Cut turns in a row before the run fails: the routes had their own retries each time. */
const MAX_CUT_TURNS = 6;

export type Finish = Extract<TurnPart, { type: 'finish' }>;

/**
 * One research turn: what the model thinks and says is shown as reasoning. A turn that was cut midway closes its
 * reasoning as incomplete and is asked for again, on the next route (contract section 4).
 * @throws GatewayError where no route can give the turn.
 */
export async function* askModel(
  run: ResearchRun,
  options: { request(): TurnRequest; signal: AbortSignal },
): AsyncGenerator<Step, Finish> {
  for (let cuts = 0; ; ) {
    try {
      let last: 'reasoning' | 'text' | undefined;
      for await (const part of run.chat.turn(options.request(), { signal: options.signal })) {
        if (part.type === 'finish') return part;
        if (part.type === 'tool_call') continue;
        const paragraph = last !== undefined && last !== part.type ? '\n\n' : '';
        last = part.type;
        yield { type: 'reasoning', delta: paragraph + part.delta };
      }
      throw new TurnError('failed', 'the provider ended its stream without finishing', { started: true });
    } catch (thrown) {
      options.signal.throwIfAborted();
      cuts++;
      yield* afterCut(run, thrown, cuts);
    }
  }
}

/** Notes the tokens of a cut turn and closes its reasoning; throws where asking again is of no use. */
export async function* afterCut(run: ResearchRun, thrown: unknown, cuts: number): AsyncGenerator<Step> {
  if (!(thrown instanceof TurnError)) throw thrown;
  const entry = noted(run.state, { t: 'spent', usage: thrown.usage });
  yield { type: 'reasoning_end', status: 'incomplete', entry };
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
