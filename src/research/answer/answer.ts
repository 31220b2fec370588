import { linkSignals } from '../../base/abort.ts';
import type { IncompleteReason } from '../../protocol/response.ts';
import { noUsage } from '../../upstream/turn.ts';
import { chartsOf } from '../charts/chart-evidence.ts';
import { ClaimChecker } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import { checks, citedDraft, draftText } from '../report/held-section.ts';
import { makeOutline, wantsReport } from '../report/outline.ts';
import { writeReport } from '../report/write-report.ts';
import { isOwnTool } from '../run/own-tools.ts';
import { structuredFormat } from '../run/request.ts';
import { noted, type ResearchRun } from '../run/run.ts';
import type { ResearchOutcome, Step } from '../run/steps.ts';
import { type AskedHow, answerLimit, answerRequest } from './answer-request.ts';
import { type Answering, answeredStep, citedSteps, type Written } from './answer-steps.ts';
import { CitedAnswer } from './cited-answer.ts';
import { mayShowOf } from './may-show.ts';
import { writeShown } from './shown-text.ts';
import { writeStructured } from './structured-answer.ts';

/** The answer turn: no tool is called, and it is streamed as the message as it is written. */

/** The least time that writing the answer has, in milliseconds, however long the research took. */
const MIN_ANSWER_MS = 180_000;
/** The part of a run's minutes that is the answer's. */
const ANSWER_SHARE = 0.1;

/**
 * Writes the answer, or the rest of one that was cut.
 * @throws GatewayError `upstream_error`, `invalid_output` and others of docs/api.md, "Errors" where none can be had.
 */
export async function* writeAnswer(run: ResearchRun, context: Context): AsyncGenerator<Step, ResearchOutcome> {
  const timeoutMs = Math.max(MIN_ANSWER_MS, run.budget.minutes * 60_000 * ANSWER_SHARE);
  using limit = linkSignals([run.signal], { what: 'the answer', timeoutMs });
  const mayShow = mayShowOf(run);
  const answering = { context, mayShow, signal: limit.signal };
  const format = structuredFormat(run);
  yield* makeOutline(run, answering);
  const { cut } = format
    ? yield* writeStructured(run, { ...answering, format })
    : yield* (wantsReport(run) ? writeReport : writeText)(run, answering);
  return { incomplete: cut ?? run.state.forced?.reason ?? run.state.joined?.cut ?? withoutSources(run) };
}

async function* writeText(run: ResearchRun, answering: Answering): AsyncGenerator<Step, Written> {
  const { context, mayShow } = answering;
  const { answered } = run.state;
  const claims = await ClaimChecker.of(run.state);
  const charts = await chartsOf(run, context.about);
  const cited = new CitedAnswer(run.state.sources, run.answerSoFar, { mayShow, claims, charts });
  if (answered) {
    // Of an answer that was whole when its instance died, citations may not have been told.
    yield* citedSteps(run, cited.end());
    return { text: '', cut: answered.cut };
  }
  const limit = answerLimit(run);
  const ask = (how: AskedHow) => answerRequest(run, { ...how, context });
  if (checks(run) && cited.length === 0) {
    const { text, cut } = yield* draftText(run, answering, { claims, limit, shown: 0, ask });
    const shown = yield* citedDraft(run, { cited, text });
    const entry = noted(run.state, { t: 'answered', usage: noUsage(), cut });
    yield { type: 'answer', ...shown, entry };
    return { text, cut };
  }
  return yield* writeShown(run, answering, {
    cited,
    before: cited.begunByModel(),
    limit,
    ask,
    whole: (written, usage) => answeredStep(run, written, usage),
  });
}

/** A run that looked things up and got nothing says so; one that needed no sources does not have to. */
function withoutSources({ state }: ResearchRun): IncompleteReason | null {
  if (state.sources.size > 0) return null;
  const lookedUp = state.made.values().some(({ name }) => name !== 'execute_python' && !isOwnTool(name));
  return lookedUp && !state.served ? 'no_sources' : null;
}
