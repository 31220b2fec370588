import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { itemId } from '../base/ids.ts';
import { compactionItem } from './items.ts';
import { type Usage, usage } from './response.ts';

/** The answers of `POST /v1/responses/compact` and `/v1/responses/input_tokens` (docs/api.md, "Counting and compacting"). */

export const inputTokens = z.object({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int().nonnegative(),
  /** Whether the count is an estimate, because no provider has counted; absent if the provider itself answers. */
  estimated: z.boolean().optional(),
});

const part = z.union([
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('input_image'), image_url: z.string(), detail: z.literal('auto') }),
  z.object({ type: z.literal('input_file'), filename: z.string(), file_data: z.string() }),
  z.object({ type: z.literal('input_audio'), input_audio: z.object({ data: z.string(), format: z.string() }) }),
]);
const userMessage = z.object({
  type: z.literal('message'),
  id: z.string(),
  status: z.literal('completed'),
  role: z.literal('user'),
  content: z.array(part),
});

export const compactedResponseObject = z.object({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: z.int(),
  output: z.array(z.union([userMessage, compactionItem])),
  usage,
});
export type CompactedResponse = z.output<typeof compactedResponseObject>;

interface ThreadMessage {
  role: string;
  content: string | readonly ThreadPart[];
}

type ThreadPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } };

/** Builds the answer of `POST /v1/responses/compact`: the user's messages, and `sealed` as the summary of the rest. */
export function compactedResponse({
  thread,
  sealed,
  ...rest
}: {
  id: string;
  created_at: number;
  thread: readonly ThreadMessage[];
  sealed: string;
  usage: Usage;
}): CompactedResponse {
  const uuid = randomUUID();
  const userMessages = thread.filter(({ role }) => role === 'user');
  const messages = userMessages.map(({ content }, index) => ({
    type: 'message' as const,
    id: itemId('msg', uuid, { input: index }),
    status: 'completed' as const,
    role: 'user' as const,
    content: (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content).map(toInputPart),
  }));
  const compaction = {
    type: 'compaction' as const,
    id: `cmp_${uuid.replaceAll('-', '')}`,
    encrypted_content: sealed,
  };
  return { object: 'response.compaction', ...rest, output: [...messages, compaction] };
}

function toInputPart(source: ThreadPart): z.output<typeof part> {
  switch (source.type) {
    case 'text':
      return { type: 'input_text', text: source.text };
    case 'image_url':
      return { type: 'input_image', image_url: source.image_url.url, detail: 'auto' };
    case 'file':
      return { type: 'input_file', ...source.file };
    case 'input_audio':
      return source;
  }
}
