import { linkSignals } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import { noUsage } from '../../upstream/turn.ts';
import type { Context } from '../context/context.ts';
import { readLive } from '../run/live-steps.ts';
import type { ResearchRun } from '../run/run.ts';
import type { ResearchOutcome, Step } from '../run/steps.ts';
import { type Finish, unfinished } from '../turns.ts';
import { type AnswerRequest, answerRequest, structuredFormat } from './answer-request.ts';
import {
  type Answering,
  answeredStep,
  citedSteps,
  countedPart,
  goesOn,
  NO_PART,
  noAnswerInTime,
  recover,
  spentAnswerBudget,
  spentStep,
  type Written,
} from './answer-steps.ts';
import { AnswerCut, AnswerTurn } from './answer-turn.ts';
import { CitedAnswer } from './cited-answer.ts';
import { mayShowOf } from './may-show.ts';
import type { MayShow } from './safe-markup.ts';
import { writeStructured } from './structured-answer.ts';

/** The answer turn: no tool is called, and it is streamed as the message as it is written. */

/** The least time that writing the answer has, in milliseconds, however long the research took. */
const MIN_ANSWER_MS = 180_000;
/** The part of a run's minutes that is the answer's. */
const ANSWER_SHARE = 0.1;

/**
 * Writes the answer, or the rest of one that was cut.
 * @throws GatewayError `upstream_error`, `invalid_output` and others of contract section 3.2 where none can be had.
 */
export async function* writeAnswer(run: ResearchRun, context: Context): AsyncGenerator<Step, ResearchOutcome> {
  const timeoutMs = Math.max(MIN_ANSWER_MS, run.budget.minutes * 60_000 * ANSWER_SHARE);
  using limit = linkSignals([run.signal], { what: 'the answer', timeoutMs });
  const mayShow = mayShowOf(run);
  const answering = { context, mayShow, signal: limit.signal };
  const format = structuredFormat(run);
  const { cut } = format ? yield* writeStructured(run, { ...answering, format }) : yield* writeText(run, answering);
  return { incomplete: cut ?? run.state.forced?.reason ?? withoutSources(run) };
}

async function* writeText(run: ResearchRun, { context, mayShow, signal }: Answering): AsyncGenerator<Step, Written> {
  const { answered } = run.state;
  const cited = new CitedAnswer(run.state.sources, run.answerSoFar, { mayShow });
  const written: Written = { text: cited.begunByModel, cut: answered?.cut ?? null };
  const tries = { cuts: 0 };
  const ask = { context, again: false, withoutTools: false };
  for (let parts = 1; !run.state.answered; parts++) {
    const before = written.text;
    const asked = yield* answerRequest(run, { ...ask, soFar: before });
    try {
      const finish = yield* streamAnswer(run, { asked, written, cited, mayShow, signal });
      const text = written.text.slice(before.length);
      const usage = finish?.usage ?? estimatedUsage({ estimate: asked.estimate, text });
      const part = { length: cited.length, tokens: countedPart(text, finish?.usage) };
      if (finish?.reason === 'length') {
        if (goesOn(run, { written, text, usage, parts, tokens: part.tokens })) {
          yield spentStep(run, usage, part);
          continue;
        }
        written.cut ??= spentAnswerBudget(run, usage) ?? 'max_output_tokens';
      }
      if (finish?.reason !== 'content_filter' && written.text.trim() !== '') {
        yield* citedSteps(run, cited.end());
        yield answeredStep(run, written, usage);
      } else yield* tryAgain(run, { finish, usage, again: ask.again });
      ask.again = true;
      ask.withoutTools ||= (finish?.message.tool_calls?.length ?? 0) > 0;
    } catch (thrown) {
      if (!signal.aborted) {
        const answer = { length: cited.length, tokens: countedPart(written.text.slice(before.length), undefined) };
        yield* recover(run, { thrown, tries, context, asked, answer });
        continue;
      }
      const text = written.text.slice(before.length);
      const usage = text === '' ? noUsage() : estimatedUsage({ estimate: asked.estimate, text });
      if (run.signal.aborted || written.text.trim() === '') {
        yield spentStep(run, usage, { length: cited.length, tokens: countedPart(text, undefined) });
        run.signal.throwIfAborted();
        throw noAnswerInTime(thrown);
      }
      written.cut = 'budget';
      yield* citedSteps(run, cited.end());
      yield answeredStep(run, written, usage);
    }
  }
  // Of an answer that was whole when its instance died, citations may not have been told.
  yield* citedSteps(run, cited.end());
  return written;
}

/** Streams one turn into `written`. Undefined where this side stopped it; `written.cut` says why. */
async function* streamAnswer(
  run: ResearchRun,
  turn: { asked: AnswerRequest; written: Written; cited: CitedAnswer; mayShow: MayShow; signal: AbortSignal },
): AsyncGenerator<Step, Finish | undefined> {
  const answer = new AnswerTurn(run, turn);
  const pass = readLive(
    run.live,
    (part, take) => answer.read(part, take),
    () => answer.isJoined,
  );
  try {
    for await (const part of run.chat.turn(turn.asked.request, { signal: turn.signal, pass })) {
      if (part.type === 'tool_call') continue;
      if (part.type === 'finish') {
        yield* answer.end();
        return part;
      }
      yield* answer.readInPieces(part);
    }
  } catch (thrown) {
    if (thrown instanceof AnswerCut) return undefined;
    throw thrown;
  }
  throw unfinished();
}

/** Nothing was written: once the model is asked again, in plainer words. */
async function* tryAgain(
  run: ResearchRun,
  { finish, usage, again }: { finish: Finish | undefined; usage: Finish['usage']; again: boolean },
): AsyncGenerator<Step> {
  yield spentStep(run, usage, NO_PART);
  if (finish?.reason === 'content_filter') {
    throw new GatewayError('upstream_error', 'The provider stopped the answer by its content filter.');
  }
  if (again) throw new GatewayError('upstream_error', 'The provider gave an empty answer twice.');
}

/** A run that looked things up and got nothing says so; one that needed no sources does not have to. */
function withoutSources({ state }: ResearchRun): IncompleteReason | null {
  if (state.sources.size > 0) return null;
  const lookedUp = state.made.values().some(({ name }) => name !== 'execute_python');
  return lookedUp && !state.served ? 'no_sources' : null;
}
