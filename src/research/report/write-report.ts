import type { IncompleteReason } from '../../protocol/response.ts';
import { estimateTokens } from '../../upstream/decoding/estimate.ts';
import { noUsage } from '../../upstream/turn.ts';
import { answerLimit } from '../answer/answer-request.ts';
import {
  type AnswerOptions,
  answeredStep,
  citedSteps,
  usedUpBudget,
  type WrittenText,
} from '../answer/answer-steps.ts';
import { CitedAnswer } from '../answer/cited-answer.ts';
import { CodeBlocks } from '../answer/code-marks.ts';
import { streamText } from '../answer/stream-text.ts';
import { chartsOf } from '../charts/chart-evidence.ts';
import { ClaimChecker } from '../claims/claim-checker.ts';
import { EmptyAnswer, NoAnswerInTime } from '../run/no-answer.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { OutlineSection, SectionEntry } from '../run/transcript.ts';
import { citeDraft, draftText, verifiesClaims } from './draft-text.ts';
import { HeadingFilter } from './heading-filter.ts';
import { type AskForSection, sectionRequests } from './section-requests.ts';

/** Writes a report, section by section, into one message (docs/research.md, "Reports"). */

/** Tokens that are reserved for each later section, if there are enough. */
const MIN_SECTION = 120;
/** If fewer tokens are left, no further section is begun. */
const MIN_TOKENS = 16;
/** A section may have this many times its even share of what is left, because some have more to say. */
const MORE_THAN_ITS_SHARE = 1.5;

interface ReportOptions {
  answering: AnswerOptions;
  claims: ClaimChecker;
  cited: CitedAnswer;
  askFor: AskForSection;
}

/** Writes the sections that are still missing. @throws GatewayError */
export async function* writeReport(run: ResearchRun, answering: AnswerOptions): AsyncGenerator<Step, WrittenText> {
  const { state } = run;
  const { outline = [] } = state.report;
  const claims = await ClaimChecker.of(state);
  const charts = await chartsOf(run, answering.context.about);
  const cited = new CitedAnswer(state.sources, run.answerSoFar, { mayShow: answering.mayShow, claims, charts });
  if (state.answered) {
    yield* citedSteps(run, cited.end());
    return { text: '', cut: state.answered.cut };
  }
  const askFor = await sectionRequests(run, { context: answering.context, claims });
  const options = { answering, claims, cited, askFor };
  let cut: IncompleteReason | null = state.report.cut;
  let before = run.answerSoFar.text.slice(0, state.report.length);
  for (let index = state.report.sectionsDone; index < outline.length; index++) {
    const section = outline[index];
    if (!section) break;
    if (index > 0 && (answering.signal.aborted || usedUpBudget(run, noUsage()))) {
      cut ??= 'budget';
      break;
    }
    const limit = tokensFor(run, outline.length - index);
    if (index > 0 && limit < MIN_TOKENS) {
      cut ??= 'max_output_tokens';
      break;
    }
    const separator = state.report.length === 0 ? '' : `${closingOf(before)}\n\n`;
    const head = `${separator}## ${section.heading}\n\n`;
    const written = yield* (verifiesClaims(run) ? writeVerifiedSection : streamSection)(run, {
      ...options,
      index,
      section,
      head,
      before,
      limit,
    });
    cut ??= written.cut;
    before = written.text;
  }
  yield* citedSteps(run, cited.end());
  if (cited.length === 0) throw answering.signal.aborted ? new NoAnswerInTime() : EmptyAnswer.twice();
  yield answeredStep(run, { text: '', cut }, noUsage());
  return { text: '', cut };
}

type SectionOptions = ReportOptions & {
  index: number;
  section: OutlineSection;
  /** Precedes its text: the separator and its heading. */
  head: string;
  before: string;
  /** In tokens. */
  limit: number;
};

async function* streamSection(run: ResearchRun, options: SectionOptions): AsyncGenerator<Step, WrittenText> {
  const { answering, cited, askFor, index, section, head, before, limit } = options;
  const { report } = run.state;
  const sent = cited.length > report.length ? cited.modelText(report.length) : '';
  const soFar = sent.slice(head.length);
  return yield* streamText(run, answering, {
    cited,
    before: soFar,
    limit,
    inMessage: true,
    isPart: true,
    filter: new HeadingFilter(section.heading, { head: head.slice(sent.length), before: soFar }),
    ask: (how) => askFor(index, { ...how, before, limit }),
    whole: ({ text, cut }, usage) => {
      return { type: 'note', entry: applyEntry(run.state, sectionEntry({ length: cited.length, text, cut, usage })) };
    },
  });
}

/** Writes a section that is buffered until its claims are verified, and sent in one piece. */
async function* writeVerifiedSection(run: ResearchRun, options: SectionOptions): AsyncGenerator<Step, WrittenText> {
  const { answering, cited, claims, askFor, index, section, head, before, limit } = options;
  const { text, cut } = yield* draftText(run, answering, {
    claims,
    limit,
    sentLength: cited.length,
    isPart: true,
    ask: (how) => askFor(index, { ...how, before, limit }),
  });
  const filter = new HeadingFilter(section.heading, { head, before: '' });
  const visible = yield* citeDraft(run, { cited, text: filter.push(text) + filter.end() });
  const written = { text, cut: filter.hasText ? cut : (cut ?? 'stuck') };
  const entry = applyEntry(run.state, sectionEntry({ length: cited.length, ...written, usage: noUsage() }));
  yield filter.hasText ? { type: 'answer', ...visible, entry } : { type: 'note', entry };
  return written;
}

function sectionEntry(written: Pick<SectionEntry, 'length' | 'cut' | 'usage'> & { text: string }): SectionEntry {
  const { length, cut, usage, text } = written;
  return { t: 'section', length, tokens: estimateTokens(text), usage, cut };
}

/** The tokens that the next section may have when `remaining` sections are left, so that all of them get some; 0 if none. */
function tokensFor(run: ResearchRun, remaining: number): number {
  const { maxOutputTokens } = run.request;
  if (maxOutputTokens === null) return answerLimit(run);
  const left = Math.max(0, maxOutputTokens - run.state.report.tokens);
  const share = (left / remaining) * MORE_THAN_ITS_SHARE;
  const max = left - (remaining - 1) * Math.min(MIN_SECTION, left / remaining);
  return Math.floor(Math.min(left, answerLimit(run), Math.max(MIN_TOKENS, Math.min(share, max))));
}

/** What closes the code block that a text leaves open; '' if there is none. */
function closingOf(text: string): string {
  const blocks = new CodeBlocks();
  for (const line of text.split('\n')) blocks.isCode(line);
  return blocks.closing === undefined ? '' : `\n${blocks.closing}`;
}
