import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { type AnswerRequest, type AskedHow, askToContinue, textRequest } from '../answer/answer-request.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import { commonValues } from '../context/opening.ts';
import type { ResearchRun } from '../run/run.ts';
import type { OutlineSection } from '../run/transcript.ts';
import { questionOf } from '../text/prose.ts';
import { headingsText, largestRequest, outlineText, sectionLine } from './outline.ts';
import { ReportRecords, recordsOfRun } from './report-records.ts';

/** The part of the run's largest request that one for a section aims at: titles and marks bring it to a third at most. */
const SHARE = 0.29;
/** Fewer tokens of evidence are no section. */
const LEAST_EVIDENCE = 400;
/** The part of it that the outline may take with the aims of its sections; a longer one is shown as headings. */
const OUTLINE_SHARE = 0.25;
/** Of longer questions and paragraphs the beginning, or the end, is enough; in UTF-16 code units. */
const LONGEST_QUESTION = 6000;
const LONGEST_BEFORE = 600;
/** Words of a token, about. */
const WORDS = 0.6;
/** Messages that are the same for all sections: the system prompt, the question and the outline. */
const COMMON = 2;

/** The requests by which a report is written: each holds the outline, and what its own section rests on. */
export class SectionRequests {
  readonly #run: ResearchRun;
  readonly #context: Context;
  readonly #outline: readonly OutlineSection[];
  readonly #records: ReportRecords;
  readonly #common: readonly TurnMessage[];

  private constructor(run: ResearchRun, of: { context: Context; records: ReportRecords; question: string }) {
    this.#run = run;
    this.#context = of.context;
    this.#outline = run.state.report.outline ?? [];
    this.#records = of.records;
    const { prompts, fence } = run;
    const whole = outlineText(this.#outline);
    const fits = estimateTokens(whole) <= this.#most * OUTLINE_SHARE;
    const outline = fence.around(fits ? whole : headingsText(this.#outline));
    this.#common = [
      {
        role: 'system',
        content: prompts.section({ ...commonValues(run), mark: fence.mark, charts: run.request.charts ?? false }),
      },
      { role: 'user', content: prompts.report({ question: of.question, outline }) },
    ];
  }

  static async of(run: ResearchRun, { context, claims }: { context: Context; claims: ClaimChecker }) {
    const { state } = run;
    const question = questionOf(run.request).slice(0, LONGEST_QUESTION);
    const outline = state.report.outline ?? [];
    const all = await recordsOfRun(state, context.about);
    const records = new ReportRecords({ records: all, outline, claims, question });
    return new SectionRequests(run, { context, records, question });
  }

  /** The tokens that a request aims at. */
  get #most(): number {
    return Math.min(this.#context.window.threshold, largestRequest(this.#run)) * SHARE;
  }

  /** The request for the n-th section. `before`: what the reader has; `limit`: tokens that the section may have. */
  async of(index: number, how: AskedHow & { before: string; limit: number }): Promise<AnswerRequest> {
    const { prompts, state, fence } = this.#run;
    const section = this.#outline[index];
    const fixed =
      estimateRequest(this.#common) + estimateTokens(how.soFar) + estimateTokens(prompts.writeSection(EMPTY));
    const records = await this.#records.of(index, {
      sources: state.sources,
      tokens: Math.max(LEAST_EVIDENCE, this.#most - fixed - LONGEST_BEFORE / 4),
    });
    const paragraph = lastParagraph(how.before);
    const ask = prompts.writeSection({
      number: String(index + 1),
      count: String(this.#outline.length),
      section: fence.around(section ? sectionLine(section, index) : ''),
      before: paragraph === '' ? '' : `The section before it ends so:\n${fence.around(paragraph)}\n\n`,
      length: lengthText(how.limit, this.#run),
      records: fence.around(records === '' ? 'nothing' : records),
    });
    const again = how.again ? `\n\n${prompts.answerNow()}` : '';
    const messages: TurnMessage[] = [
      ...this.#common,
      { role: 'user', content: `${ask}${again}` },
      ...askToContinue(this.#run, how.soFar),
    ];
    const left = how.limit - estimateTokens(how.soFar);
    return textRequest(this.#run, { context: this.#context, messages, stable: COMMON, soFar: how.soFar, left });
  }
}

const EMPTY = { number: '', count: '', section: '', before: '', length: '', records: '' };

function lengthText(limit: number, { request, model }: ResearchRun): string {
  if (request.maxOutputTokens === null || limit >= model.max_completion_tokens) {
    return 'As long as what was found deserves, seldom more than 400 words.';
  }
  return `At most ${Math.max(20, Math.floor(limit * WORDS))} words; end with a whole sentence.`;
}

/** The end of a text for the eyes of a model that writes on: without markers, whose numbers are the reader's. */
function lastParagraph(text: string): string {
  const paragraph =
    text
      .trimEnd()
      .split(/\n{2,}/)
      .at(-1) ?? '';
  return paragraph.replace(/ ?\[[\d, ?]+\]/g, '').slice(-LONGEST_BEFORE);
}
