import { estimateRequest, estimateTokens } from '../../upstream/decoding/estimate.ts';
import type { TurnMessage } from '../../upstream/turn.ts';
import { type AnswerRequest, askToContinue, type TextAttempt, textRequest } from '../answer/answer-request.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import type { Context } from '../context/context.ts';
import { commonValues } from '../context/opening.ts';
import type { ResearchRun } from '../run/run.ts';
import { questionOf } from '../text/prose.ts';
import { headingsText, largestRequest, outlineText, sectionLine } from './outline.ts';
import { recordsOfRun, sectionRecords } from './report-records.ts';

/** The target size of a section request, as a share of the run's largest request. Titles and markup may add up to a third. */
const SHARE = 0.29;
/** The evidence of a section gets at least this many tokens. */
const MIN_EVIDENCE = 400;
/** The share that the outline may take with the aims of its sections; a longer one is reduced to headings. */
const OUTLINE_SHARE = 0.25;
/** Longer questions are cut at the end, longer paragraphs at the start, in UTF-16 code units. */
const LONGEST_QUESTION = 6000;
const LONGEST_BEFORE = 600;
/** The average number of words per token. */
const WORDS = 0.6;
/** How many leading messages are the same for all sections: the system prompt, and the question with the outline. */
const COMMON = 2;

/** Requests the section `index`. `before`: what is sent already; `limit`: tokens that the section may have. */
export type AskForSection = (
  index: number,
  how: TextAttempt & { before: string; limit: number },
) => Promise<AnswerRequest>;

/** Creates the requests for the sections of a report: each has the outline, and the evidence of its own section. */
export async function sectionRequests(
  run: ResearchRun,
  { context, claims }: { context: Context; claims: ClaimChecker },
): Promise<AskForSection> {
  const { prompts, fence, state, request } = run;
  const question = questionOf(request).slice(0, LONGEST_QUESTION);
  const { outline = [] } = state.report;
  const records = await recordsOfRun(state, context.about);
  const report = { records, outline, claims, question, sources: state.sources };
  const targetTokens = () => Math.min(context.window.threshold, largestRequest(run)) * SHARE;
  const full = outlineText(outline);
  const lines = fence.around(estimateTokens(full) <= targetTokens() * OUTLINE_SHARE ? full : headingsText(outline));
  const system = prompts.section({ ...commonValues(run), mark: fence.mark, charts: request.charts ?? false });
  const common: TurnMessage[] = [
    { role: 'system', content: system },
    { role: 'user', content: prompts.report({ question, outline: lines }) },
  ];
  return async (index, { before, limit, soFar, again }) => {
    const section = outline[index];
    const fixed = estimateRequest(common) + estimateTokens(soFar) + estimateTokens(prompts.writeSection(EMPTY));
    const tokens = Math.max(MIN_EVIDENCE, targetTokens() - fixed - LONGEST_BEFORE / 4);
    const evidence = await sectionRecords(report, index, tokens);
    const paragraph = lastParagraph(before);
    const ask = prompts.writeSection({
      number: String(index + 1),
      count: String(outline.length),
      section: fence.around(section ? sectionLine(section, index) : ''),
      before: paragraph === '' ? '' : `The section before it ends so:\n${fence.around(paragraph)}\n\n`,
      length: lengthText(limit, run),
      records: fence.around(evidence === '' ? 'nothing' : evidence),
    });
    const content = again ? `${ask}\n\n${prompts.answerNow()}` : ask;
    const messages: TurnMessage[] = [...common, { role: 'user', content }, ...askToContinue(run, soFar)];
    return textRequest(run, { context, messages, stable: COMMON, soFar, again, left: limit - estimateTokens(soFar) });
  };
}

const EMPTY = { number: '', count: '', section: '', before: '', length: '', records: '' };

function lengthText(limit: number, { request, model }: ResearchRun): string {
  if (request.maxOutputTokens === null || limit >= model.max_completion_tokens) {
    return 'As long as what was found deserves, seldom more than 400 words.';
  }
  return `At most ${Math.max(20, Math.floor(limit * WORDS))} words; end with a whole sentence.`;
}

/** The end of a text, for a model that continues it: without markers, whose numbers are not the model's. */
function lastParagraph(text: string): string {
  const paragraph =
    text
      .trimEnd()
      .split(/\n{2,}/)
      .at(-1) ?? '';
  return paragraph.replace(/ ?\[[\d, ?]+\]/g, '').slice(-LONGEST_BEFORE);
}
