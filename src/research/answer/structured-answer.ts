import { TimeoutError } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import { estimatedUsage } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { stepsOf } from '../run/live-steps.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { type Finish, takeReasoning, unfinished } from '../turns.ts';
import { AnswerBound } from './answer-bound.ts';
import { answerLimit, answerRequest, schemaText } from './answer-request.ts';
import {
  type Answering,
  answeredStep,
  citedSteps,
  countedPart,
  goesOn,
  NO_PART,
  noAnswerInTime,
  recover,
  spentStep,
  type Written,
} from './answer-steps.ts';
import { type CitedText, citeJson } from './cited-answer.ts';
import { Continuation } from './continuation.ts';
import { safeJson } from './safe-json.ts';
import { type Checked, checkAnswer, type StructuredFormat } from './schema/structured.ts';
import { ShownThoughts } from './shown-thoughts.ts';

/** What of an answer that does not validate is shown to the model again, in UTF-16 code units. */
const MAX_SHOWN = 20_000;

/**
 * One JSON value, checked before anything of it is shown; one repair turn (contract section 3, `text.format`).
 * @throws GatewayError `invalid_output`
 */
export async function* writeStructured(
  run: ResearchRun,
  answering: Answering & { format: StructuredFormat },
): AsyncGenerator<Step, Written> {
  // It is shown in one piece, once it is valid: what stands there is whole.
  if (run.answerSoFar.text !== '') return { text: run.answerSoFar.text, cut: null };
  const { format, signal } = answering;
  const tail: TurnMessage[] = [];
  let problem = '';
  for (const attempt of ['first', 'repair']) {
    const answer = yield* collectAnswer(run, { ...answering, tail });
    const checked = await checkAnswer(answer.text, { format, schemas: run.schemas, signal });
    const shown = 'text' in checked ? await shownJson(checked.text, run, answering) : checked;
    if ('text' in shown) {
      const written = { text: shown.text, cut: null };
      yield* citedSteps(run, await citedJson(shown.text, { run, format, signal }));
      yield answeredStep(run, written, answer.usage);
      return written;
    }
    yield spentStep(run, answer.usage, NO_PART);
    problem = answer.cut ? `the answer was cut at ${answerLimit(run)} tokens` : shown.problem;
    run.log.info({ attempt, problem }, 'structured answer does not validate');
    tail.push(
      { role: 'assistant', content: answer.text.slice(0, MAX_SHOWN) || '(nothing)' },
      { role: 'user', content: run.prompts.repair({ problem, schema: schemaText(format) }) },
    );
  }
  throw new GatewayError('invalid_output', `The answer does not fit text.format: ${problem}.`);
}

/** The answer without what it may not show, if it still fits its schema so. */
async function shownJson(
  text: string,
  run: ResearchRun,
  { format, mayShow, signal }: Answering & { format: StructuredFormat },
): Promise<Checked> {
  for (const how of ['spaced', 'blanked'] as const) {
    const safe = safeJson(text, { sources: run.state.sources, mayShow, how });
    if (safe === text) return { text };
    const checked = await checkAnswer(safe, { format, schemas: run.schemas, signal });
    if ('text' in checked) return checked;
  }
  return { problem: 'its strings have Markdown images, links or HTML of hosts that no source is from' };
}

/** The answer with its markers numbered, unless it would not validate any more: then they keep their own numbers. */
async function citedJson(
  text: string,
  { run, format, signal }: { run: ResearchRun; format: StructuredFormat; signal: AbortSignal },
): Promise<CitedText> {
  const { sources } = run.state;
  const cited = citeJson(text, sources);
  if (cited.text === text) return cited;
  const stillFits = checkAnswer(cited.text, { format, schemas: run.schemas, signal }).then(
    (checked) => 'text' in checked,
    () => false,
  );
  return (await stillFits) ? cited : citeJson(text, sources, { keepNumbers: true });
}

interface Collected {
  text: string;
  cut: boolean;
  usage: Finish['usage'];
}

/** A turn whose text is kept back until it was checked. */
async function* collectAnswer(
  run: ResearchRun,
  answering: Answering & { tail: readonly TurnMessage[] },
): AsyncGenerator<Step, Collected> {
  const { context, signal, tail } = answering;
  const tries = { cuts: 0 };
  let before = '';
  for (let parts = 1; ; parts++) {
    const asked = yield* answerRequest(run, { context, soFar: before, again: false, withoutTools: false, tail });
    const bound = new AnswerBound(before, answerLimit(run));
    const continuation = new Continuation(before);
    const thoughts = new ShownThoughts(run.state.sources, answering.mayShow);
    let text = '';
    try {
      let finish: Finish | undefined;
      for await (const part of run.chat.turn(asked.request, { signal })) {
        if (part.type === 'reasoning') yield* stepsOf((take) => takeReasoning(thoughts.push(part.delta), take));
        if (part.type === 'text') text += bound.take(continuation.push(part.delta));
        if (part.type === 'finish') finish = part;
        if (finish || bound.cut) break;
      }
      if (!finish && !bound.cut) throw unfinished();
      text += bound.take(continuation.end());
      yield* stepsOf((take) => takeReasoning(thoughts.end(), take));
      yield { type: 'reasoning_end', status: 'completed' };
      if (finish?.reason === 'content_filter') {
        throw new GatewayError('upstream_error', 'The provider stopped the answer by its content filter.');
      }
      const usage = finish?.usage ?? estimatedUsage({ estimate: asked.estimate, text });
      const written = { text: before + text, cut: bound.cut };
      const tokens = countedPart(text, finish?.usage);
      if (finish?.reason === 'length' && goesOn(run, { written, text, usage, parts, tokens })) {
        // Nothing of it is shown before it is whole: an instance that takes the run up asks for all of it.
        yield spentStep(run, usage, NO_PART);
        before = written.text;
        continue;
      }
      return { text: written.text, cut: finish?.reason === 'length' || bound.cut !== null, usage };
    } catch (thrown) {
      if (!signal.aborted) {
        yield* recover(run, { thrown, tries, context, asked, answer: NO_PART });
        continue;
      }
      if (text !== '') yield spentStep(run, estimatedUsage({ estimate: asked.estimate, text }), NO_PART);
      run.signal.throwIfAborted();
      throw signal.reason instanceof TimeoutError ? noAnswerInTime(thrown) : thrown;
    }
  }
}
