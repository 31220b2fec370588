import { linkSignals } from '../../base/abort.ts';
import { GatewayError } from '../../base/errors.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import { toSingleLine } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import { noUsage, type TurnMessage } from '../../upstream/turn.ts';
import { type AnswerRequest, textRequest } from '../answer/answer-request.ts';
import type { AnswerOptions } from '../answer/answer-steps.ts';
import { collectText } from '../answer/buffered-text.ts';
import { CitedAnswer } from '../answer/cited-answer.ts';
import { type ClaimChecker, NO_WORDS } from '../claims/claim-checker.ts';
import { citedSentences } from '../claims/count-claims.ts';
import { type AnswerSentence, claimBefore, isStatement, LIST_MARK, markersIn, plainText } from '../claims/sentences.ts';
import { commonValues } from '../context/opening.ts';
import { EmptyAnswer } from '../run/no-answer.ts';
import { applyEntry, type ResearchRun } from '../run/run.ts';
import type { Source } from '../run/sources.ts';
import type { Step } from '../run/steps.ts';
import type { AcceptedPassage, CheckedEntry } from '../run/transcript.ts';
import { Excerpts } from './excerpts.ts';
import { type SentenceVerdict, verdictsIn } from './verdicts.ts';

/** Lets the model verify the sentences that the lexical check doubts (docs/research.md, "Verification"). */

/** How much text one turn may verify, in UTF-16 code units: it bounds the price of a check. */
const MAX_CHECKED = 60_000;
/** The tokens of nearly every verdict. */
const VERDICT_TOKENS = 80;

/** A sentence with a claim that the lexical check is not sure of; a range without spaces around it. */
interface Doubtful {
  start: number;
  end: number;
  /** These claims, each with a source that it cites. */
  claims: readonly { claim: string; source: Source }[];
}

/** A text whose claims the model verifies. */
export interface CheckedText {
  text: string;
  claims: ClaimChecker;
  /** How much of the answer is sent already, in UTF-16 code units. */
  sentLength: number;
}

/**
 * Asks the model once about the doubtful sentences of a text, and records the text as it will be sent. If the turn fails,
 * the text stays as it is, and its annotations say how well it is supported.
 */
export async function* checkText(
  run: ResearchRun,
  answering: AnswerOptions,
  checked: CheckedText,
): AsyncGenerator<Step> {
  const { claims } = checked;
  const { checks } = answering;
  const text = await withModelNumbers(run, checked.text);
  const doubtful = await sentencesToVerify(text, run, claims);
  const entry: CheckedEntry = { t: 'checked', text, accepted: [], usage: noUsage() };
  if (doubtful.length > 0 && checks.leftMs > 0) {
    const begun = performance.now();
    using limit = linkSignals([answering.signal], { what: 'the check', timeoutMs: checks.leftMs });
    try {
      const check = await checkRequest(run, answering, { text, doubtful, claims });
      if (!check) throw EmptyAnswer.tooCostly();
      const { request, asked } = check;
      const collected = yield* collectText(
        run,
        { ...answering, signal: limit.signal },
        {
          limit: run.model.max_completion_tokens,
          sentLength: checked.sentLength,
          ask: async () => request,
        },
      );
      const verdicts = verdictsIn(collected.text);
      Object.assign(entry, await applyVerdicts(text, { verdicts, asked }, { run, claims }), { usage: collected.usage });
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (!(thrown instanceof GatewayError)) throw thrown;
      run.log.warn({ err: thrown.message }, 'the doubtful sentences could not be checked');
    } finally {
      checks.leftMs = limit.signal.aborted ? 0 : checks.leftMs - (performance.now() - begun);
    }
    run.log.info({ doubtful: doubtful.length, accepted: entry.accepted.length }, 'doubtful sentences were checked');
  }
  yield { type: 'note', entry: applyEntry(run.state, entry) };
}

/** A text as it will be sent, except that its markers keep the model's own numbers. */
async function withModelNumbers({ state }: ResearchRun, text: string): Promise<string> {
  const cited = new CitedAnswer(state.sources, undefined, { keepNumbers: 'in_brackets' });
  return (await cited.whole(text)).text;
}

/** The sentences that the lexical check doubts, followed by those that it is not sure of: all that copy no sentence of a source. */
async function sentencesToVerify(text: string, { state }: ResearchRun, claims: ClaimChecker): Promise<Doubtful[]> {
  const cited = new CitedAnswer(state.sources, undefined, { keepNumbers: 'in_brackets', claims });
  const { annotations } = await cited.whole(text);
  const doubted: Doubtful[] = [];
  const unsure: Doubtful[] = [];
  const sourcesOf = (citations: readonly UrlCitation[]) => {
    const ids = new Set(citations.flatMap(({ source_id }) => source_id ?? []));
    return [...ids].flatMap((id) => state.sources.byId(id) ?? []);
  };
  const inspect = ({ start, end, citations: all }: AnswerSentence & { citations: UrlCitation[] }) => {
    const citations = all.slice(0, MAX_CITATIONS);
    // A sentence may make several claims, each with its own markers; one that is not sure is enough.
    const byClaim = Map.groupBy(citations, ({ start_index }) => claimBefore(text.slice(0, start_index)));
    const asked = [...byClaim].filter(
      ([claim, own]) =>
        own.some(({ support }) => support !== 'unchecked') &&
        !sourcesOf(own.filter(({ support }) => support === 'quoted')).some((source) => claims.isCopy(claim, source)),
    );
    const isDoubted = asked.some(([, own]) => own.every(({ support }) => support !== 'quoted'));
    // What stands behind the last marker belongs to none.
    const last = citations.at(-1);
    const ending = last ? plainText(text.slice(last.end_index, end)) : '';
    if (last && isStatement(ending)) asked.push([ending, [last]]);
    if (asked.length === 0) return;
    const sentence = text.slice(start, end);
    const from = start + sentence.length - sentence.trimStart().length;
    const own = asked.flatMap(([claim, cites]) => sourcesOf(cites).map((source) => ({ claim, source })));
    (isDoubted ? doubted : unsure).push({ start: from, end: from + sentence.trim().length, claims: own });
  };
  await inSlices(citedSentences(text, annotations), inspect, { stepsPerClockRead: 1 });
  return [...doubted, ...unsure];
}
/** How many citations of one sentence are considered. */
const MAX_CITATIONS = 100;

/** A request, and the sentences that it asks about: as many as fit, including their verdicts; undefined if none does. */
async function checkRequest(
  run: ResearchRun,
  options: AnswerOptions,
  { text, doubtful, claims }: { text: string; doubtful: readonly Doubtful[]; claims: ClaimChecker },
): Promise<{ request: AnswerRequest; asked: readonly Doubtful[] } | undefined> {
  const { prompts, fence } = run;
  const excerpts = new Excerpts(claims);
  const questions: string[] = [];
  let length = 0;
  for (const { start, end, claims: own } of doubtful) {
    await inSlices(own, ({ claim, source }) => excerpts.add(claim, source), { stepsPerClockRead: 1 });
    length += end - start;
    if (questions.length > 0 && excerpts.length + length > MAX_CHECKED) break;
    questions.push(`${questions.length + 1}. ${text.slice(start, end)}`);
  }
  const { date } = commonValues(run);
  const messages: TurnMessage[] = [
    { role: 'system', content: prompts.check({ date, mark: fence.mark }) },
    { role: 'user', content: fence.around(`${excerpts.text()}\n\n${questions.join('\n')}`) },
  ];
  const request = textRequest(run, {
    context: options.context,
    messages,
    stable: 1,
    reserved: costOfLaterSections(run),
  });
  const verdicts = Math.floor((request.request.maxOutputTokens ?? 0) / VERDICT_TOKENS);
  const asked = doubtful.slice(0, Math.max(1, Math.min(questions.length, verdicts)));
  // The first that does not fit has left its excerpts.
  if (asked.length < doubtful.length) return await checkRequest(run, options, { text, doubtful: asked, claims });
  return verdicts === 0 ? undefined : { request, asked };
}

/** What the sections after this one are going to cost, if each costs as much as this one did. */
function costOfLaterSections({ state, costBudget }: ResearchRun): number {
  const { outline = [], sectionsDone } = state.report;
  const later = outline.length - sectionsDone - 1;
  if (later < 1) return 0;
  const entries = state.ownEntries.slice(state.ownEntries.findLastIndex(({ t }) => t === 'section') + 1);
  const costs = entries.map((entry) => {
    const { inputTokens: input, outputTokens: output } = entry.t === 'draft' ? entry.usage : noUsage();
    return costBudget.costOf({ input, output });
  });
  return later * costs.reduce((sum, cost) => sum + cost, 0);
}

/** The text with corrections, and the quoted passages that are verbatim in their sources. */
async function applyVerdicts(
  text: string,
  { verdicts, asked }: { verdicts: ReadonlyMap<number, SentenceVerdict>; asked: readonly Doubtful[] },
  { run, claims }: { run: ResearchRun; claims: ClaimChecker },
): Promise<Pick<CheckedEntry, 'text' | 'accepted'>> {
  const accepted: AcceptedPassage[] = [];
  let result = text;
  const judged = asked.flatMap((each, index) => {
    const verdict = verdicts.get(index + 1);
    return verdict ? [{ ...each, verdict }] : [];
  });
  for (const { start, end, claims: doubted, verdict } of judged.toSorted((a, b) => b.start - a.start)) {
    if ('passage' in verdict) {
      const accept = ({ claim, source }: Doubtful['claims'][number]) => {
        const found = claims.quoteIn(source, { claim, named: verdict.passage });
        if (found) accepted.push({ claim, source: source.id, text: found });
      };
      await inSlices(doubted, accept, { stepsPerClockRead: 1 });
      continue;
    }
    // If no correction can take its place, or nothing else is left of the text, the sentence stays.
    accepted.push(...doubted.map(({ claim, source }) => ({ claim, source: source.id, text: NO_WORDS })));
    const [head, rest] = [result.slice(0, start), result.slice(end)];
    if (verdict.instead === '') {
      result = /(?:^|\n)$/.test(head) ? head + rest.trimStart() : head.trimEnd() + rest;
      continue;
    }
    const instead = inFormOf(text.slice(start, end), await withModelNumbers(run, verdict.instead));
    const vouched = instead === undefined ? undefined : await vouchedPassages(instead, run, claims);
    if (!vouched) continue;
    accepted.push(...vouched);
    result = head + instead + rest;
  }
  return { text: result.trim() === '' ? text : result, accepted };
}

/** A corrected sentence in the form of the original: with its bullet, its markers, or as a table row of the same width. */
function inFormOf(sentence: string, correction: string): string | undefined {
  const own = toSingleLine(correction);
  const isRow = sentence.trimStart().startsWith('|');
  if (isRow && own.split('|').length !== sentence.trim().split('|').length) return undefined;
  const mark = LIST_MARK.exec(sentence)?.[0] ?? '';
  const withMarkers = () => own.replace(/(?<![.!?…。！？])[.!?…。！？]*$/, (end) => ` ${markersIn(sentence)}${end}`);
  const marked = markersIn(own) === '' && !isRow ? withMarkers() : own;
  return LIST_MARK.test(own) || isRow ? marked : mark + marked;
}

/** The passages for a corrected sentence, which the model vouches for; undefined if no source that it cites mentions it. */
async function vouchedPassages(
  sentence: string,
  { state }: ResearchRun,
  claims: ClaimChecker,
): Promise<AcceptedPassage[] | undefined> {
  const cited = new CitedAnswer(state.sources, undefined, { keepNumbers: 'in_brackets', claims });
  const { annotations } = await cited.whole(sentence);
  if (annotations.every(({ support }) => support === 'none' || support === 'unchecked')) return undefined;
  return annotations.flatMap(({ support, source_id, cited_text, start_index }) =>
    (support === 'quoted' || support === 'partial') && source_id !== null && cited_text !== null
      ? [{ claim: claimBefore(sentence.slice(0, start_index)), source: source_id, text: cited_text }]
      : [],
  );
}
