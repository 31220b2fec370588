import { linkSignals } from '../../base/abort.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import { noUsage } from '../../upstream/turn.ts';
import { chartsOf } from '../charts/chart-evidence.ts';
import { ClaimChecker } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import { citeDraft, draftText, verifiesClaims } from '../report/draft-text.ts';
import { makeOutline, wantsReport } from '../report/outline.ts';
import { writeReport } from '../report/write-report.ts';
import { isOwnTool } from '../run/own-tools.ts';
import { structuredFormat } from '../run/request.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { ResearchOutcome, Step } from '../run/steps.ts';
import { answerLimit, answerRequest, type TextAttempt } from './answer-request.ts';
import { type AnswerOptions, answeredStep, citedSteps, type WrittenText } from './answer-steps.ts';
import { CitedAnswer } from './cited-answer.ts';
import { mayShowOf } from './may-show.ts';
import { streamText } from './stream-text.ts';
import { writeStructured } from './structured-answer.ts';

/** The answer turn: it calls no tool, and its text is streamed as the message. */

/** The minimum time for writing the answer, in milliseconds, however long the research took. */
const MIN_ANSWER_MS = 180_000;
/** The share of a run's minutes that the answer gets at least. */
const ANSWER_SHARE = 0.1;
/** The share of that time that checks may take: if they hang, the report is still written. */
const CHECKS_SHARE = 0.5;

/**
 * Writes the answer, or the rest of one that was cut off.
 * @throws GatewayError `upstream_error`, `invalid_output` and others of docs/api.md, "Errors", if there is no answer.
 */
export async function* writeAnswer(run: ResearchRun, context: Context): AsyncGenerator<Step, ResearchOutcome> {
  const allMs = run.budget.minutes * 60_000;
  const timeoutMs = Math.max(MIN_ANSWER_MS, allMs * ANSWER_SHARE, allMs - run.elapsedMs());
  using limit = linkSignals([run.signal], { what: 'the answer', timeoutMs });
  const mayShow = mayShowOf(run);
  const answering = { context, mayShow, signal: limit.signal, checks: { leftMs: timeoutMs * CHECKS_SHARE } };
  const format = structuredFormat(run);
  yield* makeOutline(run, answering);
  const { cut } = format
    ? yield* writeStructured(run, { ...answering, format })
    : yield* (wantsReport(run) ? writeReport : writeText)(run, answering);
  return { incomplete: cut ?? run.state.forcedEnd?.reason ?? run.state.joined?.cut ?? withoutSources(run) };
}

async function* writeText(run: ResearchRun, answering: AnswerOptions): AsyncGenerator<Step, WrittenText> {
  const { context, mayShow } = answering;
  const { answered } = run.state;
  const claims = await ClaimChecker.of(run.state);
  const charts = await chartsOf(run, context.about);
  const cited = new CitedAnswer(run.state.sources, run.answerSoFar, { mayShow, claims, charts });
  if (answered) {
    // The answer was complete when its instance died, but its last citations may be missing.
    yield* citedSteps(run, cited.end());
    return { text: '', cut: answered.cut };
  }
  const limit = answerLimit(run);
  const ask = (how: TextAttempt) => answerRequest(run, { ...how, context });
  if (verifiesClaims(run) && cited.length === 0) {
    const { text, cut } = yield* draftText(run, answering, { claims, limit, sentLength: 0, ask });
    const visible = yield* citeDraft(run, { cited, text });
    const entry = applyEntry(run.state, { t: 'answered', usage: noUsage(), cut });
    yield { type: 'answer', ...visible, entry };
    return { text, cut };
  }
  return yield* streamText(run, answering, {
    cited,
    before: cited.modelText(),
    limit,
    ask,
    whole: (written, usage) => answeredStep(run, written, usage),
  });
}

/** `no_sources` for a run that looked things up and found nothing; a run that needed no sources is complete without. */
function withoutSources({ state }: ResearchRun): IncompleteReason | null {
  if (state.sources.size > 0) return null;
  const lookedUp = state.calls.values().some(({ name }) => name !== 'execute_python' && !isOwnTool(name));
  return lookedUp && !state.hasServiceResults ? 'no_sources' : null;
}
