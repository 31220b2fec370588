import { GatewayError } from '../../base/errors.ts';
import { noUsage, type TurnMessage } from '../../upstream/turn.ts';
import { ClaimChecker } from '../claims/claim-checker.ts';
import { citeLeaves } from '../claims/leaf-sources.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { DraftEntry } from '../run/transcript.ts';
import { answerLimit, answerRequest, schemaText } from './answer-request.ts';
import { type AnswerOptions, answeredStep, citedSteps, type WrittenText } from './answer-steps.ts';
import { collectText } from './buffered-text.ts';
import { type CitedText, citeJson } from './cited-answer.ts';
import { safeJson } from './safe-json.ts';
import { type CheckResult, checkAnswer, type StructuredFormat } from './schema/structured.ts';

/** How much of an invalid answer goes into the repair request, in UTF-16 code units. */
const MAX_SHOWN = 20_000;

/**
 * Writes one JSON value, which is validated before any of it is sent, with one repair turn (docs/research.md,
 * "Structured answers", `text.format`).
 * @throws GatewayError `invalid_output`
 */
export async function* writeStructured(
  run: ResearchRun,
  answering: AnswerOptions & { format: StructuredFormat },
): AsyncGenerator<Step, WrittenText> {
  // The value is sent in one piece, so what was sent before a crash is complete.
  if (run.answerSoFar.text !== '') return { text: run.answerSoFar.text, cut: null };
  const { format, signal } = answering;
  const tail: TurnMessage[] = [];
  // What was written before a crash is checked again, but not paid for again.
  const drafts = run.state.ownEntries.filter((entry) => entry.t === 'draft').values();
  let problem = '';
  for (const attempt of ['first', 'repair']) {
    const answer = drafts.next().value ?? (yield* writeDraft(run, answering, tail));
    const checked = await checkAnswer(answer.text, { format, schemas: run.schemas, signal });
    const safe = 'text' in checked ? await withoutForbiddenMarkup(checked.text, run, answering) : checked;
    if ('text' in safe) {
      const written = { text: safe.text, cut: null };
      const claims = await ClaimChecker.of(run.state);
      const cited = await citedJson(safe.text, { run, format, claims, signal });
      const annotations = await citeLeaves(cited.text, {
        marked: cited.annotations,
        claims,
        sources: run.state.sources.all(),
      });
      yield* citedSteps(run, { ...cited, annotations });
      yield answeredStep(run, written, noUsage());
      return written;
    }
    problem = safe.problem;
    if (answer.cut === 'stuck') problem = 'the answer repeats itself without end';
    else if (answer.cut) problem = `the answer was cut at ${answerLimit(run)} tokens`;
    run.log.info({ attempt, problem }, 'structured answer does not validate');
    tail.push(
      { role: 'assistant', content: answer.text.slice(0, MAX_SHOWN) || '(nothing)' },
      { role: 'user', content: run.prompts.repair({ problem, schema: schemaText(format) }) },
    );
  }
  throw new GatewayError('invalid_output', `The answer does not fit text.format: ${problem}.`);
}

/** Requests the value, and stores what the model wrote before it is checked. */
async function* writeDraft(
  run: ResearchRun,
  answering: AnswerOptions,
  tail: readonly TurnMessage[],
): AsyncGenerator<Step, DraftEntry> {
  const { text, usage, cut } = yield* collectText(run, answering, {
    limit: answerLimit(run),
    ask: (how) => answerRequest(run, { ...how, context: answering.context, tail }),
  });
  const entry: DraftEntry = { t: 'draft', text, usage, whole: true, ...(cut ? { cut } : {}) };
  yield { type: 'note', entry: applyEntry(run.state, entry) };
  return entry;
}

/** The answer without forbidden markup, if it still fits its schema. */
async function withoutForbiddenMarkup(
  text: string,
  run: ResearchRun,
  { format, mayShow, signal }: AnswerOptions & { format: StructuredFormat },
): Promise<CheckResult> {
  for (const how of ['spaced', 'blanked'] as const) {
    const safe = safeJson(text, { sources: run.state.sources, mayShow, how });
    if (safe === text) return { text };
    const checked = await checkAnswer(safe, { format, schemas: run.schemas, signal });
    if ('text' in checked) return checked;
  }
  return { problem: 'its strings have Markdown images, links or HTML of hosts that no source is from' };
}

/** The answer with renumbered markers, or with the model's own numbers if it would no longer validate. */
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
