import { GatewayError } from '../../base/errors.ts';
import { isObject, parseJson } from '../../base/json.ts';
import { inSlices } from '../../base/load/event-loop.ts';
import { onOneLine } from '../../base/text.ts';
import type { UrlCitation } from '../../protocol/items.ts';
import { estimateRequest } from '../../upstream/decoding/estimate.ts';
import { noUsage, type TurnMessage } from '../../upstream/turn.ts';
import type { AnswerRequest } from '../answer/answer-request.ts';
import type { Answering } from '../answer/answer-steps.ts';
import { CitedAnswer } from '../answer/cited-answer.ts';
import { collectText } from '../answer/held-text.ts';
import { jsonIn } from '../answer/schema/structured.ts';
import type { ClaimChecker } from '../claims/claim-checker.ts';
import { citedSentences } from '../claims/count-claims.ts';
import { claimBefore, LIST_MARK } from '../claims/sentences.ts';
import { commonValues } from '../context/opening.ts';
import { noted, type ResearchRun } from '../run/run.ts';
import type { Step } from '../run/steps.ts';
import type { AcceptedPassage, CheckedEntry } from '../run/transcript.ts';
import { hints, sampling } from '../turns.ts';
import { citedWhole } from './cited-whole.ts';

/** The model's own look at the sentences that the lexical check doubts (docs/research.md, "Verification"). */

/** Sentences that are asked about at most. */
const MOST_SENTENCES = 40;
/** Passages that are shown of each source of a sentence. */
const PASSAGES = 2;

/** A sentence that its sources do not carry, as far as can be seen; a range of the text without spaces around it. */
interface Doubtful {
  start: number;
  end: number;
  citations: readonly UrlCitation[];
}

/** A text whose claims the model holds against their sources, too. */
export interface CheckedText {
  text: string;
  claims: ClaimChecker;
  /** What the reader has already, in UTF-16 code units. */
  shown: number;
}

/**
 * Asks the model once about the doubtful sentences of a text, and notes the text as it is to be shown. A turn that fails
 * changes nothing: the annotations say how the sentences stand.
 */
export async function* checkText(run: ResearchRun, answering: Answering, checked: CheckedText): AsyncGenerator<Step> {
  const { text, claims } = await citedText(run, checked);
  const doubtful = await askedAbout(text, run, claims);
  const entry: CheckedEntry = { t: 'checked', text, accepted: [], usage: noUsage() };
  if (doubtful.length > 0) {
    try {
      const request = await checkRequest(run, answering, { text, doubtful, claims });
      const held = yield* collectText(run, answering, {
        limit: run.model.max_completion_tokens,
        shown: checked.shown,
        ask: async () => request,
      });
      const verdicts = verdictsIn(held.text, doubtful);
      Object.assign(entry, await corrected(text, verdicts, { run, claims }), { usage: held.usage });
    } catch (thrown) {
      run.signal.throwIfAborted();
      if (!(thrown instanceof GatewayError)) throw thrown;
      run.log.warn({ err: thrown.message }, 'the doubtful sentences could not be checked');
    }
    run.log.info({ doubtful: doubtful.length, accepted: entry.accepted.length }, 'doubtful sentences were checked');
  }
  yield { type: 'note', entry: noted(run.state, entry) };
}

/** The text as it is shown but for its markers, which keep the numbers that the model knows. */
async function citedText(
  run: ResearchRun,
  { text, claims }: CheckedText,
): Promise<{ text: string; claims: ClaimChecker }> {
  const cited = new CitedAnswer(run.state.sources, undefined, { keepNumbers: true });
  return { text: (await citedWhole(cited, text)).delta, claims };
}

/** The sentences that are doubted, and, where there is room, those that say it in other words than their sources. */
async function askedAbout(text: string, run: ResearchRun, claims: ClaimChecker): Promise<Doubtful[]> {
  const doubted = await doubtfulIn(text, run, claims);
  const starts = new Set(doubted.map(({ start }) => start));
  const others = (await doubtfulIn(text, run, claims.strict())).filter(({ start }) => !starts.has(start));
  return [...doubted, ...others].slice(0, MOST_SENTENCES).sort((a, b) => a.start - b.start);
}

async function doubtfulIn(text: string, { state }: ResearchRun, claims: ClaimChecker): Promise<Doubtful[]> {
  const cited = new CitedAnswer(state.sources, undefined, { keepNumbers: true, claims });
  const { annotations } = await citedWhole(cited, text);
  return [...citedSentences(text, annotations)].flatMap(({ start, end, citations }) => {
    const isDoubted =
      citations.length > 0 && citations.every(({ support }) => support === 'partial' || support === 'none');
    const sentence = text.slice(start, end);
    const from = start + sentence.length - sentence.trimStart().length;
    return isDoubted ? [{ start: from, end: from + sentence.trim().length, citations }] : [];
  });
}

async function checkRequest(
  run: ResearchRun,
  { context }: Answering,
  { text, doubtful, claims }: { text: string; doubtful: readonly Doubtful[]; claims: ClaimChecker },
): Promise<AnswerRequest> {
  const { prompts, fence, state, model } = run;
  const asked: string[] = [];
  const ask = ({ start, end, citations }: Doubtful, index: number) => {
    const sentence = text.slice(start, end);
    const sources = [...new Set(citations.map(({ source_id }) => source_id))];
    const passages = sources.flatMap((id) => {
      const source = id === null ? undefined : state.sources.byId(id);
      if (!source) return [];
      return claims.passages(sentence, source, PASSAGES).map((passage) => `   [${source.id}] ${passage}`);
    });
    const shown = passages.length > 0 ? passages : ['   (no passage speaks of it)'];
    asked.push([`${index + 1}. ${sentence}`, ...shown].join('\n'));
  };
  await inSlices(doubtful, ask, { stepsALook: 1 });
  const { date } = commonValues(run);
  const messages: TurnMessage[] = [
    { role: 'system', content: prompts.check({ date, mark: fence.mark }) },
    { role: 'user', content: fence.around(asked.join('\n\n')) },
  ];
  const estimate = estimateRequest(messages);
  const affordable = run.purse.answerTokens(context.window.counted(estimate));
  const most = Math.min(model.max_completion_tokens, context.window.roomToWrite(estimate), affordable);
  return { request: { messages, maxOutputTokens: Math.max(16, most), ...hints(run, 1), ...sampling(run) }, estimate };
}

/** What the model says of a doubtful sentence: whose words carry it, how it is right, or '' where it goes. */
type Verdict = Doubtful & ({ passage: string } | { instead: string });

function verdictsIn(answer: string, doubtful: readonly Doubtful[]): Verdict[] {
  const json = jsonIn(answer);
  const value = json === undefined ? undefined : parseJson(json);
  const list = isObject(value) ? Object.values(value).find(Array.isArray) : value;
  if (!Array.isArray(list)) return [];
  const verdicts = new Map<Doubtful, Verdict>();
  for (const item of list) {
    const own = isObject(item) && typeof item.n === 'number' ? doubtful[item.n - 1] : undefined;
    if (!own || !isObject(item)) continue;
    if (item.drop === true) verdicts.set(own, { ...own, instead: '' });
    else if (typeof item.text === 'string' && item.text.trim() !== '')
      verdicts.set(own, { ...own, instead: item.text });
    else if (typeof item.passage === 'string') verdicts.set(own, { ...own, passage: item.passage });
  }
  return [...verdicts.values()];
}

/** The text with what was put right, and the passages that stand in their sources word for word. */
async function corrected(
  text: string,
  verdicts: readonly Verdict[],
  { run, claims }: { run: ResearchRun; claims: ClaimChecker },
): Promise<Pick<CheckedEntry, 'text' | 'accepted'>> {
  const accepted: AcceptedPassage[] = [];
  let result = text;
  for (const verdict of verdicts.toSorted((a, b) => b.start - a.start)) {
    const { start, end, citations } = verdict;
    if ('passage' in verdict) {
      for (const { source_id, start_index } of citations) {
        const source = source_id === null ? undefined : run.state.sources.byId(source_id);
        const found = source && claims.wordsOf(source, verdict.passage);
        if (source && found)
          accepted.push({ claim: claimBefore(text.slice(0, start_index)), source: source.id, text: found });
      }
      continue;
    }
    const sentence = text.slice(start, end);
    const instead = verdict.instead === '' ? '' : inPlaceOf(sentence, verdict.instead);
    if (instead === undefined || (instead !== '' && (await saysNothingOfSources(instead, run, claims)))) continue;
    const [head, rest] = [result.slice(0, start), result.slice(end)];
    if (instead !== '') result = head + instead + rest;
    else if (/(?:^|\n)$/.test(head)) result = head + rest.trimStart();
    else result = head.trimEnd() + rest;
  }
  return { text: result.trim() === '' ? text : result, accepted };
}

/** A corrected sentence in the form of the one before: its mark of a list, its row. */
function inPlaceOf(sentence: string, said: string): string | undefined {
  const own = onOneLine(said);
  const isRow = sentence.trimStart().startsWith('|');
  if (isRow && own.split('|').length !== sentence.trim().split('|').length) return undefined;
  const mark = LIST_MARK.exec(sentence)?.[0] ?? '';
  return LIST_MARK.test(own) || isRow ? own : mark + own;
}

/** Whether a sentence cites nothing, or nothing that speaks of it. */
async function saysNothingOfSources(sentence: string, { state }: ResearchRun, claims: ClaimChecker): Promise<boolean> {
  const cited = new CitedAnswer(state.sources, undefined, { keepNumbers: true, claims });
  const { annotations } = await citedWhole(cited, sentence);
  return annotations.every(({ support }) => support === 'none');
}
