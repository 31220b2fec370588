import { collapseSpaces } from '../../base/text.ts';
import { noUsage } from '../../upstream/turn.ts';
import { closingRequest } from '../answer/answer-request.ts';
import type { AnswerOptions } from '../answer/answer-steps.ts';
import { collectText } from '../answer/buffered-text.ts';
import { EmptyAnswer } from '../run/no-answer.ts';
import { structuredFormat } from '../run/request.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { OutlineSection } from '../run/transcript.ts';
import { withoutMarks } from './heading-filter.ts';
import { objectsIn } from './objects-in.ts';
import { outlineLines, recordsOfRun } from './report-records.ts';

/** Decides whether a report has sections, and plans them (docs/research.md, "Reports"). */

/** A plan with this many parts leads to a report with sections, unless the request says otherwise. */
const MANY_PARTS = 4;
/** The share of a request that the list of records may have. */
const RECORDS_SHARE = 0.25;
/** As many as a plan may have items. */
const MAX_SECTIONS = 40;
const MAX_RECORDS = 200;
/** In UTF-16 code units. */
const LONGEST_HEADING = 160;
const LONGEST_AIM = 800;
/** If the cost is limited and pays for fewer tokens, the answer is written in one turn. */
const MIN_REPORT = 2000;

/** Whether the answer should have sections; without an outline, the model may still decide against them. */
export function wantsReport(run: ResearchRun): boolean {
  const { request, state, answerSoFar, costBudget, context_length } = { ...run, ...run.model };
  if (structuredFormat(run) || state.sources.size === 0 || request.report === 'short') return false;
  if (state.report.outline) return state.report.outline.length > 0;
  if (answerSoFar.text !== '' || state.answered || costBudget.maxAnswerOutput(context_length / 2) < MIN_REPORT)
    return false;
  const parts = state.plan?.items.filter(({ status }) => status !== 'dropped').length ?? 0;
  return request.report === 'full' || request.effort === 'high' || parts >= MANY_PARTS;
}

/** Asks for the outline, once. @throws GatewayError */
export async function* makeOutline(run: ResearchRun, answering: Omit<AnswerOptions, 'checks'>): AsyncGenerator<Step> {
  const { state } = run;
  if (state.report.outline || !wantsReport(run)) return;
  const { context } = answering;
  const records = await recordsOfRun(state, context.about);
  let estimate = 0;
  let collected = { text: '', usage: noUsage() };
  try {
    collected = yield* collectText(run, answering, {
      limit: run.model.max_completion_tokens,
      async *ask(how) {
        const lines = outlineLines(records, context.window.threshold * RECORDS_SHARE);
        const content = run.prompts.outline({ records: run.fence.around(lines) });
        const request = yield* closingRequest(run, { ...how, context, tail: [{ role: 'user', content }] });
        ({ estimate } = request);
        const affordable = run.costBudget.maxTurnOutput(context.window.counted(estimate));
        if (affordable === undefined) throw EmptyAnswer.tooCostly();
        const { maxOutputTokens = affordable } = request.request;
        request.request.maxOutputTokens = Math.min(maxOutputTokens, affordable);
        return request;
      },
    });
  } catch (thrown) {
    if (!(thrown instanceof EmptyAnswer)) throw thrown;
  }
  const sections = sectionsIn(collected.text, records.length);
  run.log.info({ sections: sections.length, records: records.length }, 'the report has an outline');
  yield { type: 'note', entry: applyEntry(state, { t: 'outline', sections, usage: collected.usage, estimate }) };
}

/** The sections of an outline as the model wrote it; empty if there is only one, or if it cannot be parsed. */
export function sectionsIn(text: string, records: number): OutlineSection[] {
  const byHeading = new Map<string, OutlineSection>();
  for (const item of objectsIn(text, 'heading')) {
    const section = sectionOf(item, records);
    const first = byHeading.get(section.heading.toLowerCase());
    // What a repeated heading adds belongs to the first section of that name.
    if (first) first.records = recordNumbers([...first.records, ...section.records], records);
    else if (section.heading !== '') byHeading.set(section.heading.toLowerCase(), section);
  }
  return byHeading.size > 1 ? [...byHeading.values()].slice(0, MAX_SECTIONS) : [];
}

function sectionOf(item: Record<string, unknown>, records: number): OutlineSection {
  return {
    heading: typeof item.heading === 'string' ? plainHeading(item.heading) : '',
    aim: typeof item.aim === 'string' ? item.aim.trim().slice(0, LONGEST_AIM) : '',
    records: recordNumbers([item.records].flat(), records),
  };
}

function recordNumbers(named: readonly unknown[], records: number): number[] {
  const numbers = named.flatMap((name) => (typeof name === 'string' ? (name.match(/\d+/g) ?? []).map(Number) : name));
  const isRecord = (n: unknown): n is number => typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= records;
  return [...new Set(numbers.filter(isRecord))].slice(0, MAX_RECORDS);
}

/** A heading on one line, without Markdown, markers and HTML. */
function plainHeading(text: string): string {
  const line = collapseSpaces(text.replace(/[[\]<>`|\\]+/g, ' '));
  return withoutMarks(line).slice(0, LONGEST_HEADING).toWellFormed().trim();
}

/** Names the sections without evidence to the model, once, so that it searches for them; undefined if there are none. */
export function remindOfGaps({ state, prompts, fence, log }: ResearchRun): Step | undefined {
  const { outline = [], gapsNamed } = state.report;
  const gaps = outline.filter(({ records }) => records.length === 0);
  if (gapsNamed || gaps.length === 0) return undefined;
  log.info({ gaps: gaps.length }, 'sections without records were named');
  const list = gaps.map(({ heading, aim }) => `- ${heading}: ${aim}`).join('\n');
  const text = prompts.gaps({ sections: fence.around(list) });
  return { type: 'note', entry: applyEntry(state, { t: 'reminder', text }) };
}

/** The outline as lines, each with its number. */
export function outlineText(outline: readonly OutlineSection[]): string {
  return outline.map(sectionLine).join('\n');
}

/** The outline as lines, without the aims of the sections. */
export function headingsText(outline: readonly OutlineSection[]): string {
  return outline.map(({ heading }, index) => `${index + 1}. ${heading}`).join('\n');
}

export function sectionLine({ heading, aim }: OutlineSection, index: number): string {
  return `${index + 1}. ${heading}${aim === '' ? '' : `: ${collapseSpaces(aim)}`}`;
}

/** The largest request of the run so far, by the gateway's estimate. */
export function largestRequest({ state }: Pick<ResearchRun, 'state'>): number {
  return state.entries.reduce(
    (max, entry) => (entry.t === 'turn' || entry.t === 'outline' ? Math.max(max, entry.estimate) : max),
    0,
  );
}
