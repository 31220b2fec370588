import { hash } from 'node:crypto';
import { isObject } from '../../base/json.ts';

/**
 * What tells one conversation of a user from another in the body of a passed call (docs/configuration.md, "Models",
 * `sticky`): its id, its cache key, or what it began with. Undefined where the call belongs to none.
 */
export function conversationIn(api: string, body: Readonly<Record<string, unknown>>): string | undefined {
  const { conversation, prompt_cache_key: cacheKey, messages } = body;
  const id = isObject(conversation) ? conversation.id : conversation;
  if (typeof id === 'string') return id;
  if (typeof cacheKey === 'string') return cacheKey;
  if (Array.isArray(messages)) return openingOf(messages);
  // Only the provider knows what a `previous_response_id` follows: all of these of a user are one.
  return api.startsWith('responses') ? 'responses' : undefined;
}

/** A hash of what each further request of a conversation repeats: its messages up to the first of the user. */
export function openingOf(messages: readonly unknown[]): string {
  const first = messages.findIndex((message) => isObject(message) && message.role === 'user');
  return hash('sha256', JSON.stringify(messages.slice(0, Math.max(0, first) + 1)));
}
