import { z } from 'zod';

/** Conversations as OpenAI's API shows them (docs/api.md, "Conversations"). */

const metadata = z.record(z.string(), z.unknown());

export const conversationObject = z.object({
  id: z.string(),
  object: z.literal('conversation'),
  /** Unix seconds. */
  created_at: z.int(),
  metadata,
});
export type ConversationObject = z.output<typeof conversationObject>;

/** An item as it was sent, or as a response put it out, with its id. */
export const conversationItem = z.looseObject({ id: z.string(), type: z.string() });
