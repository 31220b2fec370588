import { TimeoutError } from '../../base/abort.ts';
import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import { noUsage, unfinishedStream } from '../../upstream/turn.ts';
import { stepsOf } from '../run/live-steps.ts';
import { EmptyAnswer, NoAnswerInTime } from '../run/no-answer.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { Unfenced } from '../text/unfenced.ts';
import { emitReasoning, type Finish, stoppedUsage } from '../turns.ts';
import { AnswerBound } from './answer-bound.ts';
import { answerTokensLeft, type RequestSource, resolveRequest, type TextAttempt } from './answer-request.ts';
import {
  type AnswerOptions,
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
import { Continuation } from './continuation.ts';
import { VisibleReasoning } from './visible-reasoning.ts';

/** A text that is buffered until it is checked: a JSON value, an outline, a section. */
export interface BufferedText {
  /** In tokens. */
  limit: number;
  /** The part that is stored already. */
  before?: string;
  /** How much of its message is sent already, in UTF-16 code units; if any is, reasoning cannot be sent any more. */
  sentLength?: number;
  ask(how: TextAttempt): RequestSource;
  /**
   * Records a part that is not the last; without it, a resumed run requests the whole text again, and a part is of no use:
   * with it, what is written when the time is over counts.
   */
  part?(text: string, usage: Finish['usage']): Step;
}

export interface CollectedText extends WrittenText {
  /** Usage of the last part; the others are recorded. */
  usage: Finish['usage'];
}

/** Writes a text in as many turns as it takes. Only its reasoning is sent to clients. @throws GatewayError */
export async function* collectText(
  run: ResearchRun,
  { context, signal, mayShow }: Omit<AnswerOptions, 'checks'>,
  options: BufferedText,
): AsyncGenerator<Step, CollectedText> {
  const tries = { cuts: 0 };
  const inMessage = (options.sentLength ?? 0) > 0;
  // Nothing of this text is sent, and a failed turn records so, unless the message has text of its own already.
  const noPart = inMessage ? {} : { answer: NO_TEXT };
  let before = options.before ?? '';
  let withoutTools = false;
  for (let parts = 1; ; parts++) {
    const request = yield* resolveRequest(options.ask({ soFar: before, again: false, withoutTools }));
    if (!mayAsk(run, context, request)) {
      if (!options.part || before.trim() === '') throw EmptyAnswer.tooCostly();
      return { text: before, cut: 'budget', usage: noUsage() };
    }
    const bound = new AnswerBound(before, options.limit);
    const continuation = new Continuation(before);
    const unfenced = before === '' ? new Unfenced('markdown') : undefined;
    const take = (fresh: string) => bound.take(unfenced?.push(fresh) ?? fresh);
    const thoughts = new VisibleReasoning(run.state.sources, mayShow);
    let text = '';
    try {
      let finish: Finish | undefined;
      for await (const part of run.chat.turn(request.request, { signal })) {
        if (part.type === 'reasoning' && !inMessage) {
          yield* stepsOf((emit) => emitReasoning(thoughts.push(part.delta), emit));
        }
        if (part.type === 'text') text += take(continuation.push(part.delta));
        if (part.type === 'finish') finish = part;
        if (finish || bound.cut) break;
      }
      if (!finish && !bound.cut) throw unfinishedStream();
      text += take(continuation.end()) + bound.take(unfenced?.end() ?? '');
      if (!inMessage) {
        yield* stepsOf((emit) => emitReasoning(thoughts.end(), emit));
        yield { type: 'reasoning_end', status: 'completed' };
      }
      if (finish?.reason === 'content_filter') {
        yield spentStep(run, finish.usage, noPart.answer);
        throw EmptyAnswer.byFilter();
      }
      const usage = finish?.usage ?? estimatedUsage({ estimate: request.estimate, text });
      if (!withoutTools && onlyAnnouncesCalls(text, finish)) {
        yield spentStep(run, usage, noPart.answer);
        withoutTools = true;
        continue;
      }
      const written: WrittenText = { text: before + text, cut: bound.cut };
      const tokens = partTokens(text, finish?.usage);
      const left = answerTokensLeft(run, before, options.limit);
      if (finish?.reason === 'length' && shouldContinue(run, { written, text, usage, parts, tokens, left })) {
        yield options.part?.(text, usage) ?? spentStep(run, usage, NO_TEXT);
        before = written.text;
        continue;
      }
      if (finish?.reason === 'length') written.cut ??= usedUpBudget(run, usage) ?? 'max_output_tokens';
      return { ...written, usage };
    } catch (thrown) {
      if (!signal.aborted) {
        yield* recover(run, { thrown, tries, context, request, ...noPart });
        continue;
      }
      const used = stoppedUsage(run, { estimate: request.estimate, text });
      if (!run.signal.aborted && options.part && (before + text).trim() !== '') {
        if (!inMessage) yield { type: 'reasoning_end', status: 'completed' };
        return { text: before + text, cut: 'budget', usage: used ?? noUsage() };
      }
      if (used) yield spentStep(run, used, noPart.answer);
      run.signal.throwIfAborted();
      throw signal.reason instanceof TimeoutError ? new NoAnswerInTime(thrown) : thrown;
    }
  }
}
