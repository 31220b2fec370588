import { GatewayError } from '../../base/errors.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { ClaimChecker } from '../claims/claim-checker.ts';
import { citeLeaves } from '../claims/leaf-sources.ts';
import type { ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import { answerLimit, answerRequest, schemaText } from './answer-request.ts';
import { type Answering, answeredStep, citedSteps, NO_PART, spentStep, type Written } from './answer-steps.ts';
import { type CitedText, citeJson } from './cited-answer.ts';
import { collectText } from './held-text.ts';
import { safeJson } from './safe-json.ts';
import { type Checked, checkAnswer, type StructuredFormat } from './schema/structured.ts';

/** What of an answer that does not validate is shown to the model again, in UTF-16 code units. */
const MAX_SHOWN = 20_000;

/**
 * One JSON value, checked before anything of it is shown; one repair turn (docs/research.md, "Structured answers",
 * `text.format`).
 * @throws GatewayError `invalid_output`
 */
export async function* writeStructured(
  run: ResearchRun,
  answering: Answering & { format: StructuredFormat },
): AsyncGenerator<Step, Written> {
  // It is shown in one piece, once it is valid: what stands there is whole.
  if (run.answerSoFar.text !== '') return { text: run.answerSoFar.text, cut: null };
  const { context, format, signal } = answering;
  const tail: TurnMessage[] = [];
  let problem = '';
  for (const attempt of ['first', 'repair']) {
    const answer = yield* collectText(run, answering, {
      limit: answerLimit(run),
      ask: (how) => answerRequest(run, { ...how, context, tail }),
    });
    const checked = await checkAnswer(answer.text, { format, schemas: run.schemas, signal });
    const shown = 'text' in checked ? await shownJson(checked.text, run, answering) : checked;
    if ('text' in shown) {
      const written = { text: shown.text, cut: null };
      const claims = await ClaimChecker.of(run.state);
      const cited = await citedJson(shown.text, { run, format, claims, signal });
      const annotations = await citeLeaves(cited.text, {
        marked: cited.annotations,
        claims,
        sources: run.state.sources.all(),
      });
      yield* citedSteps(run, { ...cited, annotations });
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
  options: { run: ResearchRun; format: StructuredFormat; claims: ClaimChecker; signal: AbortSignal },
): Promise<CitedText> {
  const { run, format, claims, signal } = options;
  const { sources } = run.state;
  const cited = await citeJson(text, sources, { claims });
  if (cited.text === text) return cited;
  const stillFits = checkAnswer(cited.text, { format, schemas: run.schemas, signal }).then(
    (checked) => 'text' in checked,
    () => false,
  );
  return (await stillFits) ? cited : await citeJson(text, sources, { keepNumbers: 'as_written', claims });
}
