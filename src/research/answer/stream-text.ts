import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import { noUsage, unfinishedStream } from '../../upstream/turn.ts';
import { readLive } from '../run/live-steps.ts';
import { EmptyAnswer, NoAnswerInTime } from '../run/no-answer.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { type Finish, stoppedUsage } from '../turns.ts';
import {
  type AnswerRequest,
  answerTokensLeft,
  type RequestSource,
  resolveRequest,
  type TextAttempt,
} from './answer-request.ts';
import {
  type AnswerOptions,
  citedSteps,
  mayAsk,
  NO_TEXT,
  onlyAnnouncesCalls,
  partTokens,
  recover,
  shouldContinue,
  spentStep,
  usedUpBudget,
  type WrittenText,
} from './answer-steps.ts';
import { AnswerCut, AnswerTurn, type TextTarget } from './answer-turn.ts';

/** A text that is streamed while it is written: the answer, or a section of a report. */
export interface StreamedText extends TextTarget {
  /** The part that is sent already, with the model's own numbers. */
  before: string;
  ask(how: TextAttempt): RequestSource;
  /** A part of an answer: if the model writes nothing, the answer does without it. */
  isPart?: boolean;
  /** Records that the text is complete, with the usage of its last part. */
  whole(written: WrittenText, usage: Finish['usage']): Step;
}

/** Writes and streams a text, or the rest of one that was cut off, in as many turns as it takes. @throws GatewayError */
export async function* streamText(
  run: ResearchRun,
  { context, mayShow, signal }: AnswerOptions,
  target: StreamedText,
): AsyncGenerator<Step, WrittenText> {
  const { cited, limit } = target;
  const written: WrittenText = { text: target.before, cut: null };
  const tries = { cuts: 0 };
  const how = { again: false, withoutTools: false };
  for (let parts = 1; ; parts++) {
    const before = written.text;
    const request = yield* resolveRequest(target.ask({ ...how, soFar: before }));
    if (!mayAsk(run, context, request)) {
      if (written.text.trim() === '' && !target.isPart) throw EmptyAnswer.tooCostly();
      written.cut = 'budget';
      return yield* finishText(run, { written, usage: noUsage(), target });
    }
    try {
      const finish = yield* streamTurn(run, { request, written, target, mayShow, signal });
      const text = written.text.slice(before.length);
      const usage = finish?.usage ?? estimatedUsage({ estimate: request.estimate, text });
      const part = { length: cited.length, tokens: partTokens(text, finish?.usage) };
      if (finish?.reason === 'length') {
        const left = answerTokensLeft(run, before, limit);
        if (shouldContinue(run, { written, text, usage, parts, tokens: part.tokens, left })) {
          yield spentStep(run, usage, part);
          continue;
        }
        written.cut ??= usedUpBudget(run, usage) ?? 'max_output_tokens';
      }
      if (text.trim() !== '' && !how.withoutTools && onlyAnnouncesCalls(text, finish)) {
        const gap = '\n\n';
        written.text += gap;
        yield* citedSteps(run, cited.push(target.filter?.push(gap) ?? gap));
        yield spentStep(run, usage, { ...part, length: cited.length });
        how.withoutTools = true;
        continue;
      }
      const isEmpty = target.filter ? !target.filter.hasText : written.text.trim() === '';
      const isFiltered = finish?.reason === 'content_filter';
      if (target.isPart && (isFiltered || (isEmpty && how.again))) written.cut ??= 'stuck';
      else if (isFiltered || isEmpty) {
        yield* retryEmptyTurn(run, { isFiltered, usage, again: how.again });
        written.text = target.before;
        how.again = true;
        how.withoutTools ||= (finish?.message.tool_calls?.length ?? 0) > 0;
        continue;
      }
      return yield* finishText(run, { written, usage, target });
    } catch (thrown) {
      if (!signal.aborted) {
        const answer = { length: cited.length, tokens: partTokens(written.text.slice(before.length), undefined) };
        try {
          yield* recover(run, { thrown, tries, context, request, answer });
        } catch (failure) {
          if (!target.isPart || !(failure instanceof EmptyAnswer)) throw failure;
          written.cut ??= 'stuck';
          return yield* finishText(run, { written, usage: noUsage(), target });
        }
        continue;
      }
      const text = written.text.slice(before.length);
      const usage = stoppedUsage(run, { estimate: request.estimate, text }) ?? noUsage();
      if (run.signal.aborted || (written.text.trim() === '' && !target.isPart)) {
        yield spentStep(run, usage, { length: cited.length, tokens: partTokens(text, undefined) });
        run.signal.throwIfAborted();
        throw new NoAnswerInTime(thrown);
      }
      written.cut = 'budget';
      return yield* finishText(run, { written, usage, target });
    }
  }
}

/** Emits what was held back, and records that the text is complete. */
function* finishText(
  run: ResearchRun,
  { written, usage, target }: { written: WrittenText; usage: Finish['usage']; target: StreamedText },
): Generator<Step, WrittenText> {
  yield* citedSteps(run, target.cited.end());
  yield target.whole(written, usage);
  return written;
}

/** Streams one turn into `written`. Undefined if the gateway stopped it; `written.cut` says why. */
async function* streamTurn(
  run: ResearchRun,
  turn: {
    request: AnswerRequest;
    written: WrittenText;
    target: TextTarget;
    mayShow: AnswerOptions['mayShow'];
    signal: AbortSignal;
  },
): AsyncGenerator<Step, Finish | undefined> {
  const answer = new AnswerTurn(run, turn);
  const sink = readLive(
    run.live,
    (part, emit) => answer.read(part, emit),
    (part) => answer.readsAtOnce(part),
  );
  try {
    for await (const part of run.chat.turn(turn.request.request, { signal: turn.signal, sink })) {
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
  throw unfinishedStream();
}

/** Charges a turn that wrote nothing. Returns the first time, so that the model is asked again in plainer words. */
async function* retryEmptyTurn(
  run: ResearchRun,
  { isFiltered, usage, again }: { isFiltered: boolean; usage: Finish['usage']; again: boolean },
): AsyncGenerator<Step> {
  yield spentStep(run, usage, NO_TEXT);
  if (isFiltered) throw EmptyAnswer.byFilter();
  if (again) throw EmptyAnswer.twice();
}
