import type { ConversationMessage, EarlierSource, ResearchRequest } from '../research/request.ts';
import { ResearchState } from '../research/transcript.ts';
import type { RunRecord, RunStore } from '../store/run-store.ts';
import { readTranscript } from './execute-run.ts';
import { readResearchRequest } from './stored-request.ts';

/** Sources that a follow-up takes over at most: the latest of a long chain. */
const MAX_SOURCES = 200;
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
  const sources = state.sources.all().map(({ url, title, snippet }): EarlierSource => ({ url, title, snippet }));
  return {
    history: [...request.history, ...request.conversation, answered].slice(-MAX_MESSAGES),
    earlierSources: sources.slice(-MAX_SOURCES),
  };
}
