import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import { noUsage } from '../../upstream/turn.ts';
import { readLive } from '../run/live-steps.ts';
import { NothingWritten, noAnswerInTime } from '../run/no-answer.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { type Finish, unfinished } from '../turns.ts';
import { type AnswerRequest, type AskedHow, type Asking, answerTokensLeft, asked } from './answer-request.ts';
import {
  type Answering,
  citedSteps,
  countedPart,
  goesOn,
  NO_PART,
  recover,
  spentAnswerBudget,
  spentStep,
  type Written,
} from './answer-steps.ts';
import { AnswerCut, AnswerTurn, type ShownText } from './answer-turn.ts';

/** A text that is written while it is shown: the answer, or a section of a report. */
export interface WrittenText extends ShownText {
  /** What of it stands there already, as the model wrote it. */
  before: string;
  ask(how: AskedHow): Asking;
  /** It is a part of an answer: if the model writes nothing, the other parts do without it. */
  isPart?: boolean;
  /** Notes that it is whole, with what its last part cost. */
  whole(written: Written, usage: Finish['usage']): Step;
}

/** Writes a text, or the rest of one that was cut, in as many turns as it takes. @throws GatewayError */
export async function* writeShown(
  run: ResearchRun,
  { context, mayShow, signal }: Answering,
  shown: WrittenText,
): AsyncGenerator<Step, Written> {
  const { cited, limit } = shown;
  const written: Written = { text: shown.before, cut: null };
  const tries = { cuts: 0 };
  const how = { again: false, withoutTools: false };
  for (let parts = 1; ; parts++) {
    const before = written.text;
    const request = yield* asked(shown.ask({ ...how, soFar: before }));
    try {
      const finish = yield* streamText(run, { asked: request, written, shown, mayShow, signal });
      const text = written.text.slice(before.length);
      const usage = finish?.usage ?? estimatedUsage({ estimate: request.estimate, text });
      const part = { length: cited.length, tokens: countedPart(text, finish?.usage) };
      if (finish?.reason === 'length') {
        const left = answerTokensLeft(run, before, limit);
        if (goesOn(run, { written, text, usage, parts, tokens: part.tokens, left })) {
          yield spentStep(run, usage, part);
          continue;
        }
        written.cut ??= spentAnswerBudget(run, usage) ?? 'max_output_tokens';
      }
      const isEmpty = shown.filter ? !shown.filter.hasShown : written.text.trim() === '';
      const isFiltered = finish?.reason === 'content_filter';
      if (shown.isPart && (isFiltered || (isEmpty && how.again))) written.cut ??= 'stuck';
      else if (isFiltered || isEmpty) {
        yield* tryAgain(run, { isFiltered, usage, again: how.again });
        written.text = shown.before;
        how.again = true;
        how.withoutTools ||= (finish?.message.tool_calls?.length ?? 0) > 0;
        continue;
      }
      return yield* ended(run, { written, usage, shown });
    } catch (thrown) {
      if (!signal.aborted) {
        const answer = { length: cited.length, tokens: countedPart(written.text.slice(before.length), undefined) };
        try {
          yield* recover(run, { thrown, tries, context, asked: request, answer });
        } catch (failure) {
          if (!shown.isPart || !(failure instanceof NothingWritten)) throw failure;
          written.cut ??= 'stuck';
          return yield* ended(run, { written, usage: noUsage(), shown });
        }
        continue;
      }
      const text = written.text.slice(before.length);
      const usage = text === '' ? noUsage() : estimatedUsage({ estimate: request.estimate, text });
      if (run.signal.aborted || written.text.trim() === '') {
        yield spentStep(run, usage, { length: cited.length, tokens: countedPart(text, undefined) });
        run.signal.throwIfAborted();
        throw noAnswerInTime(thrown);
      }
      written.cut = 'budget';
      return yield* ended(run, { written, usage, shown });
    }
  }
}

/** Nothing more is written: shows what was held back. */
function* ended(
  run: ResearchRun,
  { written, usage, shown }: { written: Written; usage: Finish['usage']; shown: WrittenText },
): Generator<Step, Written> {
  yield* citedSteps(run, shown.cited.end());
  yield shown.whole(written, usage);
  return written;
}

/** Streams one turn into `written`. Undefined where this side stopped it; `written.cut` says why. */
async function* streamText(
  run: ResearchRun,
  turn: {
    asked: AnswerRequest;
    written: Written;
    shown: ShownText;
    mayShow: Answering['mayShow'];
    signal: AbortSignal;
  },
): AsyncGenerator<Step, Finish | undefined> {
  const answer = new AnswerTurn(run, turn);
  const pass = readLive(
    run.live,
    (part, take) => answer.read(part, take),
    (part) => answer.readsAtOnce(part),
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
  { isFiltered, usage, again }: { isFiltered: boolean; usage: Finish['usage']; again: boolean },
): AsyncGenerator<Step> {
  yield spentStep(run, usage, NO_PART);
  if (isFiltered) throw NothingWritten.byFilter();
  if (again) throw NothingWritten.twice();
}
