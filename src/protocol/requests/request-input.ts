import { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { Sealer } from '../../base/secrets/sealed.ts';
import { type MessagePhase, messagePhase } from '../items.ts';
import { imageUrlIn, imageUrlOfCall, isImageData } from '../made-images.ts';
import { anyContentPart, type ContentPart, contentParts, type InputPart } from './content-parts.ts';
import {
  type DroppedItem,
  foreignComponents,
  foreignItems,
  legacyFunctionCall,
  type PriorCall,
  toolCalls,
  toolMessage,
} from './foreign-items.ts';
import { boundedList, byType, optional, pickSchema, type Refusal, schemaRef, unsupported } from './parse.ts';
import { MAX_TOOLS, settingItems, toolsIn } from './thread-settings.ts';

/** The input of a run: items (docs/api.md, "POST /v1/responses") or chat messages (docs/api.md, "Chat completions"). */

/** Limits of docs/api.md, "Errors". */
const MAX_ITEMS = 10_000;
const MAX_PARTS_IN_ALL = 10_000;
const NO_USER_TEXT = 'needs at least one user message with text';

const role = z.enum(['user', 'assistant', 'system', 'developer']);
const textContent = z.string().transform((text): ContentPart[] => [{ type: 'text', text }]);
const content = pickSchema((value) => {
  if (typeof value === 'string') return textContent;
  if (Array.isArray(value)) return contentParts;
  if (value === undefined || value === null) return { refuse: 'missing_parameter', message: 'this field is required' };
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of parts' };
}).meta(schemaRef('Content'));

/** Checked before the message is parsed; chat messages need none. */
const type = z
  .unknown()
  .optional()
  .meta({ type: 'string', enum: ['message'] });
const message = z.object({ type, role, content }).transform((item): InputMessage => ({ ...item, type: 'message' }));
/** The images that the assistant made in a chat, in the form in which chat completions have them. */
const madeImages = z
  .unknown()
  .optional()
  .transform((images) =>
    (Array.isArray(images) ? images : []).flatMap((image) => imageUrlIn(image) ?? []).filter(isImageData),
  );
/** A message of the assistant with its tool calls. It is dropped if it has neither text, calls nor images. */
const assistantMessage = z
  .object({
    type,
    role: z.literal('assistant'),
    content: optional(content),
    phase: optional(messagePhase).catch(undefined),
    refusal: optional(z.string()),
    tool_calls: optional(toolCalls),
    function_call: optional(legacyFunctionCall),
    images: madeImages,
  })
  .transform(({ content = [], phase, refusal, tool_calls, function_call, images }): InputMessage | DroppedItem => {
    const calls = [...(tool_calls ?? []), ...(function_call ? [function_call] : [])];
    const all = content.length > 0 || refusal === undefined ? content : [{ type: 'text' as const, text: refusal }];
    const parts = calls.length === 0 ? all : all.filter((part) => part.type !== 'text' || part.text !== '');
    if (parts.length + calls.length + images.length === 0) return { type: 'dropped' };
    const optionalFields = {
      ...(phase && { phase }),
      ...(calls.length > 0 && { calls }),
      ...(images.length > 0 && { images }),
    };
    return { type: 'message', role: 'assistant', content: parts, ...optionalFields };
  });
/** A message of a thread. */
export interface InputMessage {
  type: 'message';
  role: z.output<typeof role>;
  content: InputPart[];
  phase?: MessagePhase;
  /** The assistant's tool calls in this message. */
  calls?: PriorCall[];
  /** The URLs of images beside the content: those that the assistant made. */
  images?: string[];
}

const priorToolCall = z
  .object({
    type: z.literal('tool_call'),
    name: z.string(),
    arguments: optional(z.string()),
    result: optional(z.string()),
  })
  .describe('Becomes context.');
const priorReasoning = z
  .looseObject({ type: z.literal('reasoning'), encrypted_content: optional(z.string()) })
  .transform(({ encrypted_content: sealed = '' }) => ({
    type: 'reasoning' as const,
    ...(Sealer.looksSealed(sealed) && { sealed }),
  }))
  .describe('Dropped, unless its `encrypted_content` was made here.');
const itemReference = z.object({ type: z.literal('item_reference'), id: z.string().min(1) });
/** Whether an item is a reference without a `type`, which is optional in the SDK's types. */
export function isBareReference({ type, role, id }: Record<string, unknown>): boolean {
  return type == null && role === undefined && typeof id === 'string';
}
const bareReference = z
  .object({ id: z.string().min(1) })
  .transform(({ id }) => ({ type: 'item_reference' as const, id }));
const compaction = z
  .object({ type: z.literal('compaction'), encrypted_content: z.string().min(1, 'must not be empty') })
  .describe('From `POST /v1/responses/compact`, for the same user: replaces everything before it.');
/** A message from one of the client's agents to another. */
const agentMessage = z
  .object({
    type: z.literal('agent_message'),
    author: z.string().max(256),
    recipient: z.string().max(256),
    content: z.unknown().transform(readableParts).pipe(contentParts),
  })
  .transform(({ author, recipient, content }): InputMessage => {
    const heading = { type: 'text' as const, text: `Message from ${author} to ${recipient}:` };
    return { type: 'message', role: 'user', content: [heading, ...content] };
  });
/**
 * Turns unencrypted `encrypted_content` into text. OpenAI's models encrypt messages to other agents, and Codex labels
 * those of every model that way: content other than OpenAI's tokens (Fernet) is plain text.
 */
function readableParts(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts;
  return parts.flatMap((part: unknown) => {
    if (!isObject(part) || part.type !== 'encrypted_content') return [part];
    const { encrypted_content: text } = part;
    return typeof text === 'string' && !/^gAAAA[\w-]+=*$/.test(text) ? [{ type: 'input_text', text }] : [];
  });
}
/** An image that the assistant made, as a message of it. */
const imageCall = z
  .looseObject({ type: z.literal('image_generation_call') })
  .transform((item): InputMessage | DroppedItem => {
    const url = imageUrlOfCall(item);
    if (url === undefined || !isImageData(url)) return { type: 'dropped' };
    return { type: 'message', role: 'assistant', content: [], images: [url] };
  })
  .describe('An image that the assistant made.');
/** An item that asks for a summary in place of an answer. Where it is allowed, it has been removed before parsing. */
const compactionTrigger = z.custom<never>(
  () => false,
  unsupported('must stand once, as the last item, and asks plain models alone: use POST /v1/responses/compact'),
);
const COMPACTION_TRIGGER = 'compaction_trigger';
const otherItems = {
  compaction,
  [COMPACTION_TRIGGER]: compactionTrigger,
  tool_call: priorToolCall,
  reasoning: priorReasoning,
  item_reference: itemReference,
  agent_message: agentMessage,
  image_generation_call: imageCall,
  ...settingItems,
  ...foreignItems,
};

/** An input item (docs/api.md, "POST /v1/responses"). */
export const inputItem = pickSchema((value) => {
  if (!isObject(value) || (value.type ?? 'message') !== 'message') {
    return byType(value, otherItems, 'unknown item type: use message');
  }
  if (isBareReference(value)) return bareReference;
  return value.role === 'assistant' ? assistantMessage : message;
}).meta(schemaRef('InputItem'));
export type InputItem = z.output<typeof inputItem>;

/** The input without the `compaction_trigger` at its end; undefined if there is none. */
export function withoutCompactionTrigger(input: unknown): unknown[] | undefined {
  const last: unknown = Array.isArray(input) ? input.at(-1) : undefined;
  return Array.isArray(input) && isObject(last) && isCompactionTrigger(last) ? input.slice(0, -1) : undefined;
}

/** Whether an item is a `compaction_trigger`, which is a signal and not part of the thread. */
export function isCompactionTrigger({ type }: Record<string, unknown>): boolean {
  return type === COMPACTION_TRIGGER;
}

const textInput = z
  .string()
  .min(1, 'must not be empty')
  .transform((text): InputItem[] => [{ type: 'message', role: 'user', content: [{ type: 'text', text }] }]);
const inputItems = boundedList(inputItem, { min: 1, max: MAX_ITEMS });

function textOrItems(items: typeof inputItems) {
  return pickSchema((value) => {
    if (typeof value === 'string') return textInput;
    if (Array.isArray(value)) return refusalIfTooMany(value) ?? items;
    return { refuse: 'invalid_parameter', message: 'expected a string or an array of items' };
  }).meta(schemaRef('Input'));
}

/**
 * Input for plain models (docs/api.md, "Responses of plain models"). It may consist of function outputs alone, and may be
 * empty if an earlier response or a conversation precedes it.
 */
export const threadInput = textOrItems(boundedList(inputItem, { max: MAX_ITEMS }));

/** Input for research models: it must ask something, or answer function calls of an earlier run. */
export const researchInput = textOrItems(inputItems)
  .refine(
    (items) => hasQuestion(items) || items.some((item) => item.type === 'prior_output' && item.callId !== undefined),
    NO_USER_TEXT,
  )
  .meta(schemaRef('Input'));

/** @throws GatewayError `invalid_parameter` if no user message has text. */
export function requireQuestion(items: readonly InputItem[]): void {
  if (!hasQuestion(items)) throw fieldError('invalid_parameter', 'input', `${NO_USER_TEXT}.`);
}

/** Refuses input with too many parts or tools before it is parsed, because parsing costs. */
function refusalIfTooMany(items: readonly unknown[]): Refusal | undefined {
  let parts = 0;
  for (const item of items) if (isObject(item) && Array.isArray(item.content)) parts += item.content.length;
  if (parts > MAX_PARTS_IN_ALL) {
    return { refuse: 'invalid_parameter', message: `expected at most ${MAX_PARTS_IN_ALL} content parts in all` };
  }
  if (toolsIn(items) <= MAX_TOOLS) return undefined;
  return { refuse: 'invalid_parameter', message: `expected at most ${MAX_TOOLS} tools in all` };
}

/** Whether a user message has text. True for lists that are refused for another reason. */
function hasQuestion(items: readonly (InputItem | z.output<typeof chatMessage>)[]): boolean {
  return !Array.isArray(items) || items.length === 0 || items.some(isUserText);
}

export function isUserText(item: InputItem | z.output<typeof chatMessage>): boolean {
  return (
    item.type === 'message' &&
    item.role === 'user' &&
    item.content.some((part) => part.type === 'text' && part.text.trim() !== '')
  );
}

const chatMessage = pickSchema((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  if (value.role === 'tool' || value.role === 'function') return toolMessage;
  return value.role === 'assistant' ? assistantMessage : message;
}).meta(schemaRef('ChatMessage'));
const chatMessages = boundedList(chatMessage, { min: 1, max: MAX_ITEMS });

/** Chat messages for plain models. They need no user text: instructions or an image may be enough. */
export const threadMessages = pickSchema((value) =>
  Array.isArray(value)
    ? (refusalIfTooMany(value) ?? chatMessages)
    : { refuse: 'invalid_parameter', message: 'expected an array of messages' },
);

/** Chat messages for research models: one of them must ask something. */
export const messageList = threadMessages
  .refine(hasQuestion, NO_USER_TEXT)
  .meta({ type: 'array', items: schemaRef('ChatMessage'), minItems: 1 });

/** For the API description, by component name. */
export const messageComponents = {
  ...foreignComponents,
  ContentPart: anyContentPart,
  Content: z.union([z.string(), contentParts]),
  InputMessage: message,
  InputItem: z
    .union([
      z.unknown().meta(schemaRef('InputMessage')),
      itemReference,
      priorToolCall,
      priorReasoning,
      compaction,
      imageCall,
      settingItems.additional_tools,
      settingItems.configuration_update,
      z
        .object({ type: z.literal(COMPACTION_TRIGGER) })
        .describe('As the last item, for a plain model: the output is a single `compaction` item.'),
      z.unknown().meta(schemaRef('PriorItem')),
    ])
    .describe('A message, or an item copied from an earlier `output`.'),
  Input: z.union([textInput, inputItems]).describe('A prompt, or items with at least one user message that has text.'),
  ChatMessage: z
    .union([message, assistantMessage, toolMessage])
    .describe('Messages and calls of the assistant and outputs of tools become context.'),
};
