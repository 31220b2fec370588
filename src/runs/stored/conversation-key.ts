import { openingHash } from '../../protocol/requests/conversation-key.ts';
import type { RunRecord } from '../../store/run-store.ts';
import { readPlainRequest, readRequest, readResearchRequest } from './stored-request.ts';

/**
 * A key shared by all runs of one conversation: its id, its cache key, or its opening messages, which every follow-up
 * repeats (docs/configuration.md, "Conversations that stick"). Undefined if the run belongs to no conversation.
 */
export function conversationKeyOf(run: RunRecord): string | undefined {
  const { conversation } = readRequest(run);
  if (conversation !== undefined) return conversation;
  const plain = readPlainRequest(run);
  if (plain) return plain.cacheKey ?? openingHash(plain.messages);
  const research = readResearchRequest(run);
  return research && openingHash([...research.history, ...research.conversation]);
}
