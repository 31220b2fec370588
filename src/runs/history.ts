import { isObject, parseJson } from '../base/json.ts';
import { executedCalls } from '../research/fit-transcript.ts';
import { keyFacts, keywords } from '../research/key-facts.ts';
import { questionOf } from '../research/prose.ts';
import type { ConversationMessage, EarlierSource, ResearchRequest } from '../research/request.ts';
import { ResearchState } from '../research/transcript.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import { readTranscript } from './execute-run.ts';
import { readResearchRequest } from './stored-request.ts';

/** Sources that a follow-up takes over at most: the latest of a long chain. */
const MAX_SOURCES = 200;
/** Key facts of one page, in UTF-16 code units. */
const FACTS_LENGTH = 800;
/** Messages that a follow-up takes over at most. */
const MAX_MESSAGES = 2000;

/**
 * What a follow-up of a completed run takes over. Each stored request holds its own history already, so a chain is
 * followed in one step and outlives the deletion of its earlier runs.
 */
export async function conversationOf(
  store: RunStore,
  run: RunRecord,
  answer: string,
): Promise<Pick<ResearchRequest, 'history' | 'earlierSources'>> {
  const request = readResearchRequest(run);
  if (!request) return { history: [], earlierSources: [] };
  const answered: ConversationMessage = { role: 'assistant', content: [{ type: 'text', text: answer }] };
  const state = ResearchState.of(await readTranscript(store, run.id), request.earlierSources);
  const about = keywords(`${questionOf(request)} ${answer}`);
  const before = new Map(request.earlierSources.map((source) => [source.url, source.facts]));
  const facts = readPages(state, about);
  const sources = state.sources.all().map(({ id, url, title, snippet }): EarlierSource => {
    const read = facts.get(id) ?? before.get(url);
    return { url, title, snippet, ...(read === undefined ? {} : { facts: read }) };
  });
  return {
    history: [...request.history, ...request.conversation, answered].slice(-MAX_MESSAGES),
    earlierSources: sources.slice(-MAX_SOURCES),
  };
}

/** What was read of each source, reduced to key facts, by source id: a follow-up uses it without fetching again. */
function readPages(state: ResearchState, about: ReadonlySet<string>): Map<number, string> {
  const facts = new Map<number, string>();
  for (const { result } of executedCalls(state.entries, state)) {
    const page = parseJson(result.result);
    if (!isObject(page) || typeof page.source_id !== 'number' || typeof page.content !== 'string') continue;
    facts.set(page.source_id, keyFacts(page.content, { about, maxLength: FACTS_LENGTH }));
  }
  return facts;
}
