import { openingOf } from '../../protocol/requests/conversation-key.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { readPlainRequest, readRequest, readResearchRequest } from './stored-request.ts';

/**
 * What the runs of one conversation have in common: its id, its cache key, or what it began with, which each follow-up
 * holds (docs/configuration.md, "Models", `sticky`). Undefined where the run belongs to none.
 */
export function conversationKeyOf(run: RunRecord): string | undefined {
  const { conversation } = readRequest(run);
  if (conversation !== undefined) return conversation;
  const plain = readPlainRequest(run);
  if (plain) return plain.cacheKey ?? openingOf(plain.messages);
  const research = readResearchRequest(run);
  return research && openingOf([...research.history, ...research.conversation]);
}
