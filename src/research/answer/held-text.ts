import { TimeoutError } from '../../base/abort.ts';
import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import { stepsOf } from '../run/live-steps.ts';
import { NothingWritten, noAnswerInTime } from '../run/no-answer.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { type Finish, takeReasoning, unfinished } from '../turns.ts';
import { AnswerBound } from './answer-bound.ts';
import { type AskedHow, type Asking, answerTokensLeft, asked } from './answer-request.ts';
import { type Answering, countedPart, goesOn, NO_PART, recover, spentStep } from './answer-steps.ts';
import { Continuation } from './continuation.ts';
import { ShownThoughts } from './shown-thoughts.ts';

/** A text that is kept back until it was looked at: a JSON value, an outline, a section that is checked. */
export interface HeldText {
  /** The most tokens that it may have. */
  limit: number;
  /** What of it is stored already. */
  before?: string;
  /** It stands in a message of which so much is shown, in UTF-16 code units: thoughts cannot be shown any more. */
  shown?: number;
  ask(how: AskedHow): Asking;
  /** Notes a part that is not the last; absent: an instance that takes the run up asks for all of it. */
  part?(text: string, usage: Finish['usage']): Step;
}

export interface Collected {
  text: string;
  cut: boolean;
  /** Of the last part; those before are noted. */
  usage: Finish['usage'];
}

/** Writes a text in as many turns as it takes and shows nothing of it but thoughts. @throws GatewayError */
export async function* collectText(
  run: ResearchRun,
  { context, signal, mayShow }: Answering,
  held: HeldText,
): AsyncGenerator<Step, Collected> {
  const tries = { cuts: 0 };
  const inMessage = (held.shown ?? 0) > 0;
  /** Of what is shown nothing is new; where nothing is, that is told. */
  const noPart = inMessage ? {} : { answer: NO_PART };
  let before = held.before ?? '';
  for (let parts = 1; ; parts++) {
    const request = yield* asked(held.ask({ soFar: before, again: false, withoutTools: false }));
    const bound = new AnswerBound(before, held.limit);
    const continuation = new Continuation(before);
    const thoughts = new ShownThoughts(run.state.sources, mayShow);
    let text = '';
    try {
      let finish: Finish | undefined;
      for await (const part of run.chat.turn(request.request, { signal })) {
        if (part.type === 'reasoning' && !inMessage) {
          yield* stepsOf((take) => takeReasoning(thoughts.push(part.delta), take));
        }
        if (part.type === 'text') text += bound.take(continuation.push(part.delta));
        if (part.type === 'finish') finish = part;
        if (finish || bound.cut) break;
      }
      if (!finish && !bound.cut) throw unfinished();
      text += bound.take(continuation.end());
      if (!inMessage) {
        yield* stepsOf((take) => takeReasoning(thoughts.end(), take));
        yield { type: 'reasoning_end', status: 'completed' };
      }
      if (finish?.reason === 'content_filter') {
        throw NothingWritten.byFilter();
      }
      const usage = finish?.usage ?? estimatedUsage({ estimate: request.estimate, text });
      const written = { text: before + text, cut: bound.cut };
      const tokens = countedPart(text, finish?.usage);
      const left = answerTokensLeft(run, before, held.limit);
      if (finish?.reason === 'length' && goesOn(run, { written, text, usage, parts, tokens, left })) {
        yield held.part?.(text, usage) ?? spentStep(run, usage, NO_PART);
        before = written.text;
        continue;
      }
      return { text: written.text, cut: finish?.reason === 'length' || bound.cut !== null, usage };
    } catch (thrown) {
      if (!signal.aborted) {
        yield* recover(run, { thrown, tries, context, asked: request, ...noPart });
        continue;
      }
      if (text !== '') yield spentStep(run, estimatedUsage({ estimate: request.estimate, text }), noPart.answer);
      run.signal.throwIfAborted();
      throw signal.reason instanceof TimeoutError ? noAnswerInTime(thrown) : thrown;
    }
  }
}
