import { isObject, parseJson } from '../../base/json.ts';
import { nextTurn, step } from '../../base/load/event-loop.ts';
import { findingsOf } from '../../research/context/findings.ts';
import type { ConversationMessage, EarlierSource, ResearchRequest } from '../../research/run/request.ts';
import { ResearchState } from '../../research/run/state.ts';
import { keyFacts, keywords } from '../../research/text/key-facts.ts';
import { questionOf } from '../../research/text/prose.ts';
import type { RunRecord, RunStore } from '../../store/run-store.ts';
import { readResearchRequest } from '../stored/stored-request.ts';
import { readTranscript } from '../stored/stored-transcript.ts';

/** Sources that a follow-up takes over at most: the latest of a long chain. */
const MAX_SOURCES = 200;
/** Key facts of one page, in UTF-16 code units. */
const FACTS_LENGTH = 800;
/** What of one page is looked through for them, in UTF-16 code units. */
const PAGE_LENGTH = 200_000;
/** Messages that a follow-up takes over at most, and their length together, in UTF-16 code units. */
const MAX_MESSAGES = 2000;
const MAX_LENGTH = 4_000_000;

/**
 * What a follow-up of a completed run takes over. Each stored request holds its own history already, so a chain is
 * followed in one step and outlives the deletion of its earlier runs.
 */
export async function takenOver(
  store: RunStore,
  run: RunRecord,
  answer: string,
): Promise<Pick<ResearchRequest, 'history' | 'earlierSources'>> {
  const request = readResearchRequest(run);
  if (!request) return { history: [], earlierSources: [] };
  const answered: ConversationMessage = { role: 'assistant', content: [{ type: 'text', text: answer }] };
  const state = ResearchState.of(await readTranscript(store, run.id), request.earlierSources);
  const about = keywords(`${questionOf(request)} ${answer}`);
  const before = new Map(request.earlierSources.map((source) => [state.sources.byUrl(source.url)?.id, source.facts]));
  const facts = await readPages(state, about);
  const sources = state.sources.all().map(({ id, url, title, snippet }): EarlierSource => {
    const read = facts.get(id) ?? before.get(id);
    return { url, title, snippet, ...(read === undefined ? {} : { facts: read }) };
  });
  return {
    history: latest([...request.history, ...request.conversation, answered]),
    earlierSources: sources.slice(-MAX_SOURCES),
  };
}

function latest(messages: readonly ConversationMessage[]): ConversationMessage[] {
  let length = 0;
  const tooMuch = messages.findLastIndex((message) => {
    length += JSON.stringify(message.content).length;
    return length > MAX_LENGTH;
  });
  return messages.slice(Math.max(tooMuch + 1, messages.length - MAX_MESSAGES));
}

/** What was read of each source, reduced to key facts, by source id: a follow-up uses it without fetching again. */
async function readPages(state: ResearchState, about: ReadonlySet<string>): Promise<Map<number, string>> {
  const texts = new Map<number, string[]>();
  for (const { result } of findingsOf(state.entries, state)) {
    const page = parseJson(result.result);
    if (!isObject(page) || typeof page.source_id !== 'number' || typeof page.content !== 'string') continue;
    const parts = texts.get(page.source_id) ?? [];
    texts.set(page.source_id, [...parts, page.content]);
  }
  const facts = new Map<number, string>();
  for (const [id, parts] of texts) {
    const text = parts.join('\n').slice(0, PAGE_LENGTH);
    facts.set(
      id,
      step('ranking what was read', () => keyFacts(text, { about, maxLength: FACTS_LENGTH })),
    );
    // Hundreds of pages at once would hold up everybody.
    await nextTurn();
  }
  return facts;
}
