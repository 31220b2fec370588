import { hash } from 'node:crypto';
import { isObject } from '../../base/json.ts';

/**
 * Identifies the conversation of a proxied call, for `sticky` routing (docs/configuration.md, "Conversations that stick"),
 * by the id, cache key or first messages in its body. Undefined if the call belongs to no conversation.
 */
export function conversationKey(api: string, body: Readonly<Record<string, unknown>>): string | undefined {
  const { conversation, prompt_cache_key: cacheKey, messages } = body;
  const id = isObject(conversation) ? conversation.id : conversation;
  if (typeof id === 'string') return id;
  if (typeof cacheKey === 'string') return cacheKey;
  if (Array.isArray(messages)) return openingHash(messages);
  // Only the provider knows which thread a `previous_response_id` continues, so all responses of a user count as one.
  return api.startsWith('responses') ? 'responses' : undefined;
}

/** Hashes the messages up to the user's first one, which every later request of a conversation repeats. */
export function openingHash(messages: readonly unknown[]): string {
  const first = messages.findIndex((message) => isObject(message) && message.role === 'user');
  return hash('sha256', JSON.stringify(messages.slice(0, Math.max(0, first) + 1)));
}
