import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { type DroppedItem, foreignItems, isForeign, type PriorCall, toolCalls, toolMessage } from './foreign-items.ts';
import { boundedList, chosenBy, optional, type Refusal, reference } from './parse.ts';

/** What a run is asked: input items (contract section 3.1) and chat messages (section 7). */

/** Bounds of contract section 2. */
const MAX_ITEMS = 10_000;
const MAX_PARTS = 1000;
const MAX_PARTS_IN_ALL = 10_000;

const role = z.enum(['user', 'assistant', 'system', 'developer']);
const textPart = z.object({ text: z.string() }).transform(({ text }) => ({ type: 'text' as const, text }));
const imageUrl = z
  .string()
  .refine(
    (url) => (/^https:\/\//i.test(url) ? URL.canParse(url) : /^data:[^,]*,./is.test(url)),
    'must be an https URL or a data URL',
  );
const imagePart = z
  .object({
    image_url: chosenBy((value) =>
      isObject(value) ? z.object({ url: imageUrl }).transform(({ url }) => url) : imageUrl,
    ),
  })
  .transform(({ image_url }) => ({ type: 'image' as const, url: image_url }));

const refusalPart = z
  .object({ refusal: z.string() })
  .transform(({ refusal }) => ({ type: 'text' as const, text: refusal }));

/** A content part, of Responses (`input_text`, `output_text`, `input_image`) or chat (`text`, `image_url`). */
const contentPart = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  switch (value.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textPart;
    case 'refusal':
      return refusalPart;
    case 'input_image':
    case 'image_url':
      return imagePart;
    case undefined:
      return { refuse: 'missing_parameter', message: 'this field is required', at: 'type' };
    default:
      return {
        refuse: 'invalid_parameter',
        message: 'unknown part type: use text or an image (input_text and input_image; in chats text and image_url)',
        at: 'type',
      };
  }
});
export type ContentPart = z.output<typeof contentPart>;

const textContent = z.string().transform((text): ContentPart[] => [{ type: 'text', text }]);
const contentParts = boundedList(contentPart, { max: MAX_PARTS });
const content = chosenBy((value) => {
  if (typeof value === 'string') return textContent;
  if (Array.isArray(value)) return contentParts;
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of parts' };
}, reference('Content'));

const message = z.object({ role, content }).transform((item): InputMessage => ({ type: 'message', ...item }));
/** What an assistant said, and the tools that it called with it. One that did neither says nothing. */
const assistantMessage = z
  .object({
    role: z.literal('assistant'),
    content: optional(content),
    refusal: optional(z.string()),
    tool_calls: optional(toolCalls),
  })
  .transform(({ content: said = [], refusal, tool_calls: calls = [] }): InputMessage | DroppedItem => {
    const whole = said.length > 0 || refusal === undefined ? said : [{ type: 'text' as const, text: refusal }];
    const parts = calls.length === 0 ? whole : whole.filter((part) => part.type !== 'text' || part.text !== '');
    if (parts.length === 0 && calls.length === 0) return { type: 'dropped' };
    return { type: 'message', role: 'assistant', content: parts, ...(calls.length > 0 ? { calls } : {}) };
  });
/** A message of a thread. */
export interface InputMessage {
  type: 'message';
  role: z.output<typeof role>;
  content: ContentPart[];
  /** Tools that the assistant called with it. */
  calls?: PriorCall[];
}

const priorToolCall = z
  .object({ name: z.string(), arguments: optional(z.string()), result: optional(z.string()) })
  .transform((item) => ({ type: 'tool_call' as const, ...item }));
const priorReasoning = z.looseObject({}).transform(() => ({ type: 'reasoning' as const }));
const itemReference = z
  .object({ id: z.string().min(1) })
  .transform((item) => ({ type: 'item_reference' as const, ...item }));

/** An input item (contract section 3.1). */
export const inputItem = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  switch (value.type ?? 'message') {
    case 'message':
      return value.role === 'assistant' ? assistantMessage : message;
    case 'tool_call':
      return priorToolCall;
    case 'reasoning':
      return priorReasoning;
    case 'item_reference':
      return itemReference;
    default:
      if (isForeign(value.type)) return foreignItems[value.type];
      return { refuse: 'invalid_parameter', message: 'unknown item type: use message', at: 'type' };
  }
}, reference('InputItem'));
export type InputItem = z.output<typeof inputItem>;

const textInput = z
  .string()
  .min(1, 'must not be empty')
  .transform((text): InputItem[] => [{ type: 'message', role: 'user', content: [{ type: 'text', text }] }]);
const inputItems = boundedList(inputItem, { min: 1, max: MAX_ITEMS });

export const input = chosenBy((value) => {
  if (typeof value === 'string') return textInput;
  if (Array.isArray(value)) return tooManyParts(value) ?? inputItems;
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of items' };
}, reference('Input')).superRefine((items, context) => {
  if (Array.isArray(items) && items.length > 0 && !items.some(isUserText)) {
    context.addIssue({ code: 'custom', message: 'needs at least one user message with text' });
  }
});

/** Counted before anything is looked at: what is looked at costs. */
function tooManyParts(items: readonly unknown[]): Refusal | undefined {
  let parts = 0;
  for (const item of items) if (isObject(item) && Array.isArray(item.content)) parts += item.content.length;
  if (parts <= MAX_PARTS_IN_ALL) return undefined;
  return { refuse: 'invalid_parameter', message: `expected at most ${MAX_PARTS_IN_ALL} content parts in all` };
}

function isUserText(item: InputItem | z.output<typeof chatMessage>): boolean {
  return (
    item.type === 'message' &&
    item.role === 'user' &&
    item.content.some((part) => part.type === 'text' && part.text.trim() !== '')
  );
}

const chatMessage = chosenBy((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  if (value.role === 'tool' || value.role === 'function') return toolMessage;
  return value.role === 'assistant' ? assistantMessage : message;
});
const listOfMessages = boundedList(chatMessage, { min: 1, max: MAX_ITEMS });

export const chatMessages = chosenBy(
  (value) =>
    Array.isArray(value)
      ? (tooManyParts(value) ?? listOfMessages)
      : { refuse: 'invalid_parameter', message: 'expected an array of messages' },
  { type: 'array', items: reference('ChatMessage'), minItems: 1 },
).superRefine((messages, context) => {
  if (Array.isArray(messages) && messages.length > 0 && !messages.some(isUserText)) {
    context.addIssue({ code: 'custom', message: 'needs at least one user message with text' });
  }
});
