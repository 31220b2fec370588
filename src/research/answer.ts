import { linkSignals, TimeoutError } from '../base/abort.ts';
import { GatewayError } from '../base/errors.ts';
import type { IncompleteReason } from '../protocol/response.ts';
import type { TurnMessage, TurnRequest } from '../upstream/turn.ts';
import { findCitations } from './citations.ts';
import { answerMessages, transcriptMessages } from './context.ts';
import { Continuation } from './continuation.ts';
import { noted, type ResearchRun } from './run.ts';
import type { ResearchOutcome, Step } from './steps.ts';
import { estimateTokens } from './tokens.ts';
import { afterCut, type Finish } from './turns.ts';

/** The answer turn: without tools, streamed as the message as it is written. */

/** The least time that writing the answer has, in milliseconds, however long the research took. */
const MIN_ANSWER_MS = 180_000;
/** The part of a run's minutes that is the answer's. */
const ANSWER_SHARE = 0.1;

/**
 * Writes the answer, or the rest of one that was cut.
 * @throws GatewayError `upstream_error` and others of contract section 3.2 where no answer can be had.
 */
export async function* writeAnswer(
  run: ResearchRun,
  opening: readonly TurnMessage[],
): AsyncGenerator<Step, ResearchOutcome> {
  const timeoutMs = Math.max(MIN_ANSWER_MS, run.budget.minutes * 60_000 * ANSWER_SHARE);
  using limit = linkSignals([run.signal], { what: 'the answer', timeoutMs });
  let text = run.answerSoFar;
  let cut: IncompleteReason | null = null;
  let empty = false;
  for (let cuts = 0; ; ) {
    try {
      const finish = yield* streamAnswer(
        run,
        { request: answerRequest(run, opening, text), before: text, signal: limit.signal },
        (delta) => {
          text += delta;
        },
      );
      yield { type: 'note', entry: noted(run.state, { t: 'spent', usage: finish.usage }) };
      if (finish.reason === 'content_filter')
        throw new GatewayError('upstream_error', 'The provider stopped the answer by its content filter.');
      if (finish.reason === 'length') cut = 'max_output_tokens';
      if (text.trim() !== '' || cut) break;
      if (empty) throw new GatewayError('upstream_error', 'The provider gave an empty answer twice.');
      empty = true;
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (limit.signal.reason instanceof TimeoutError) {
        if (text.trim() === '')
          throw new GatewayError('upstream_timeout', 'No answer was written in time.', { cause: thrown });
        cut = 'budget';
        break;
      }
      cuts++;
      yield* afterCut(run, thrown, cuts);
    }
  }
  const { annotations, unknownMarkers } = findCitations(text, run.state.sources);
  if (unknownMarkers.length > 0)
    run.log.warn({ markers: unknownMarkers }, 'the answer cites sources that do not exist');
  return { annotations, incomplete: cut ?? run.state.forced?.reason ?? withoutSources(run) };
}

async function* streamAnswer(
  run: ResearchRun,
  turn: { request: TurnRequest; before: string; signal: AbortSignal },
  onText: (delta: string) => void,
): AsyncGenerator<Step, Finish> {
  const continuation = new Continuation(turn.before);
  let started = turn.before !== '';
  let thought = false;
  for await (const part of run.chat.turn(turn.request, { signal: turn.signal })) {
    if (part.type === 'reasoning') {
      // Items do not interleave: what a model thinks after it began to write is not shown.
      if (started) continue;
      thought = true;
      yield { type: 'reasoning', delta: part.delta };
    } else if (part.type === 'text' || part.type === 'finish') {
      const fresh = part.type === 'text' ? continuation.push(part.delta) : continuation.end();
      if (thought && !started) yield { type: 'reasoning_end', status: 'completed' };
      thought = false;
      if (fresh !== '') {
        started = true;
        onText(fresh);
        yield { type: 'answer', delta: fresh };
      }
      if (part.type === 'finish') return part;
    }
  }
  throw new GatewayError('upstream_error', 'The provider ended its stream without finishing.');
}

function answerRequest(run: ResearchRun, opening: readonly TurnMessage[], soFar: string): TurnRequest {
  const { request, state } = run;
  const limit = request.maxOutputTokens ?? run.model.max_completion_tokens;
  return {
    messages: [...opening, ...transcriptMessages(state), ...answerMessages(state, run.prompts, { soFar })],
    maxOutputTokens: Math.max(16, limit - estimateTokens(soFar)),
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
  };
}

/** A run that looked things up and found nothing says so; one that needed no tools does not have to. */
function withoutSources(run: ResearchRun): IncompleteReason | null {
  const looked = run.state.calls > 0 && run.state.sources.size === 0 && run.request.earlierSources.length === 0;
  const only = [...run.state.results.keys()].length > 0 && everyCallIsPython(run);
  return looked && !only ? 'no_sources' : null;
}

function everyCallIsPython(run: ResearchRun): boolean {
  return run.state.entries.every(
    (entry) => entry.t !== 'turn' || entry.calls.every((call) => !('name' in call) || call.name === 'execute_python'),
  );
}
