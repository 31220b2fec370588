import { z } from 'zod';

/** Conversations in the format of OpenAI's API (docs/api.md, "Conversations"). */

const metadata = z.record(z.string(), z.unknown());

export const conversationObject = z.object({
  id: z.string(),
  object: z.literal('conversation'),
  /** Unix seconds. */
  created_at: z.int(),
  metadata,
});
export type ConversationObject = z.output<typeof conversationObject>;

/** An item as a client sent it or a response returned it, with its id. */
export const conversationItem = z.looseObject({ id: z.string(), type: z.string() });
