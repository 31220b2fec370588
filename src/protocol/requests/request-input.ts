import { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { Sealer } from '../../base/secrets/sealed.ts';
import { type MessagePhase, messagePhase } from '../items.ts';
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
import {
  boundedList,
  chooseSchema,
  componentRef,
  optional,
  type Refusal,
  schemaByType,
  unsupportedIssue,
} from './parse.ts';
import { MAX_TOOLS, settingItems, toolsIn } from './thread-settings.ts';

/** What a run is asked: input items (docs/api.md, "POST /v1/responses") and chat messages ("Chat completions" there). */

/** Bounds of docs/api.md, "Errors". */
const MAX_ITEMS = 10_000;
const MAX_PARTS_IN_ALL = 10_000;
const NO_USER_TEXT = 'needs at least one user message with text';

const role = z.enum(['user', 'assistant', 'system', 'developer']);
const textContent = z.string().transform((text): ContentPart[] => [{ type: 'text', text }]);
const content = chooseSchema((value) => {
  if (typeof value === 'string') return textContent;
  if (Array.isArray(value)) return contentParts;
  return { refuse: 'invalid_parameter', message: 'expected a string or an array of parts' };
}).meta(componentRef('Content'));

/** Read before the message is: in a chat it says nothing. */
const type = z
  .unknown()
  .optional()
  .meta({ type: 'string', enum: ['message'] });
const message = z.object({ type, role, content }).transform((item): InputMessage => ({ ...item, type: 'message' }));
/** What an assistant said, and the tools that it called with it. One that did neither says nothing. */
const assistantMessage = z
  .object({
    type,
    role: z.literal('assistant'),
    content: optional(content),
    phase: optional(messagePhase).catch(undefined),
    refusal: optional(z.string()),
    tool_calls: optional(toolCalls),
    function_call: optional(legacyFunctionCall),
  })
  .transform(({ content: said = [], phase, refusal, tool_calls, function_call }): InputMessage | DroppedItem => {
    const calls = [...(tool_calls ?? []), ...(function_call ? [function_call] : [])];
    const whole = said.length > 0 || refusal === undefined ? said : [{ type: 'text' as const, text: refusal }];
    const parts = calls.length === 0 ? whole : whole.filter((part) => part.type !== 'text' || part.text !== '');
    if (parts.length === 0 && calls.length === 0) return { type: 'dropped' };
    const more = { ...(phase && { phase }), ...(calls.length > 0 && { calls }) };
    return { type: 'message', role: 'assistant', content: parts, ...more };
  });
/** A message of a thread. */
export interface InputMessage {
  type: 'message';
  role: z.output<typeof role>;
  content: InputPart[];
  phase?: MessagePhase;
  /** Tools that the assistant called with it. */
  calls?: PriorCall[];
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
    ...(Sealer.mayOpen(sealed) && { sealed }),
  }))
  .describe('Dropped, unless its `encrypted_content` was made here.');
const itemReference = z.object({ type: z.literal('item_reference'), id: z.string().min(1) });
/** Whether an item is a reference without `type`: the SDK's type of one says that it may be. */
export function isBareReference({ type, role, id }: Record<string, unknown>): boolean {
  return type == null && role === undefined && typeof id === 'string';
}
const bareReference = z
  .object({ id: z.string().min(1) })
  .transform(({ id }) => ({ type: 'item_reference' as const, id }));
const compaction = z
  .object({ type: z.literal('compaction'), encrypted_content: z.string().min(1, 'must not be empty') })
  .describe('Of `POST /v1/responses/compact`, for the same user: stands for all that was said before it.');
/** What one agent of the client's tells another. */
const agentMessage = z
  .object({
    type: z.literal('agent_message'),
    author: z.string().max(256),
    recipient: z.string().max(256),
    content: z.unknown().transform(readable).pipe(contentParts),
  })
  .transform(({ author, recipient, content }): InputMessage => {
    const from = { type: 'text' as const, text: `Message from ${author} to ${recipient}:` };
    return { type: 'message', role: 'user', content: [from, ...content] };
  });
/**
 * OpenAI's models encrypt what they write to other agents, and Codex hands on what a model wrote as if all did: what is
 * no token of that service (Fernet's) is the text itself.
 */
function readable(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts;
  return parts.flatMap((part: unknown) => {
    if (!isObject(part) || part.type !== 'encrypted_content') return [part];
    const { encrypted_content: text } = part;
    return typeof text === 'string' && !/^gAAAA[\w-]+=*$/.test(text) ? [{ type: 'input_text', text }] : [];
  });
}
/** Asks for nothing but a summary; where it may stand, `withoutTrigger` has taken it out. */
const compactionTrigger = z.custom<never>(
  () => false,
  unsupportedIssue('must stand once, as the last item, and asks plain models alone: use POST /v1/responses/compact'),
);
const COMPACTION_TRIGGER = 'compaction_trigger';
const otherItems = {
  compaction,
  [COMPACTION_TRIGGER]: compactionTrigger,
  tool_call: priorToolCall,
  reasoning: priorReasoning,
  item_reference: itemReference,
  agent_message: agentMessage,
  ...settingItems,
  ...foreignItems,
};

/** An input item (docs/api.md, "POST /v1/responses"). */
export const inputItem = chooseSchema((value) => {
  if (!isObject(value) || (value.type ?? 'message') !== 'message') {
    return schemaByType(value, otherItems, 'unknown item type: use message');
  }
  if (isBareReference(value)) return bareReference;
  return value.role === 'assistant' ? assistantMessage : message;
}).meta(componentRef('InputItem'));
export type InputItem = z.output<typeof inputItem>;

/** The input without the item at its end that asks for a summary in place of an answer, or undefined. */
export function withoutTrigger(input: unknown): unknown[] | undefined {
  const last: unknown = Array.isArray(input) ? input.at(-1) : undefined;
  return Array.isArray(input) && isObject(last) && isTrigger(last) ? input.slice(0, -1) : undefined;
}

/** Whether an item is that one: a signal, no part of what was said. */
export function isTrigger({ type }: Record<string, unknown>): boolean {
  return type === COMPACTION_TRIGGER;
}

const textInput = z
  .string()
  .min(1, 'must not be empty')
  .transform((text): InputItem[] => [{ type: 'message', role: 'user', content: [{ type: 'text', text }] }]);
const inputItems = boundedList(inputItem, { min: 1, max: MAX_ITEMS });

function textOrItems(items: typeof inputItems) {
  return chooseSchema((value) => {
    if (typeof value === 'string') return textInput;
    if (Array.isArray(value)) return tooMany(value) ?? items;
    return { refuse: 'invalid_parameter', message: 'expected a string or an array of items' };
  }).meta(componentRef('Input'));
}

/**
 * Input that may hold nothing but outputs of functions (docs/api.md, "Responses of plain models"), or nothing at all where
 * something was said before.
 */
export const threadInput = textOrItems(boundedList(inputItem, { max: MAX_ITEMS }));

/** Input that asks something, or answers functions that a research called. */
export const researchInput = textOrItems(inputItems)
  .refine(
    (items) => asksSomething(items) || items.some((item) => item.type === 'prior_output' && item.callId !== undefined),
    NO_USER_TEXT,
  )
  .meta(componentRef('Input'));

/** @throws GatewayError `invalid_parameter` where nothing is asked. */
export function requireQuestion(items: readonly InputItem[]): void {
  if (!asksSomething(items)) throw fieldError('invalid_parameter', 'input', `${NO_USER_TEXT}.`);
}

/** Counted before anything is looked at: what is looked at costs. */
function tooMany(items: readonly unknown[]): Refusal | undefined {
  let parts = 0;
  for (const item of items) if (isObject(item) && Array.isArray(item.content)) parts += item.content.length;
  if (parts > MAX_PARTS_IN_ALL) {
    return { refuse: 'invalid_parameter', message: `expected at most ${MAX_PARTS_IN_ALL} content parts in all` };
  }
  if (toolsIn(items) <= MAX_TOOLS) return undefined;
  return { refuse: 'invalid_parameter', message: `expected at most ${MAX_TOOLS} tools in all` };
}

/** A list that is refused for something else is not looked at. */
function asksSomething(items: readonly (InputItem | z.output<typeof chatMessage>)[]): boolean {
  return !Array.isArray(items) || items.length === 0 || items.some(isUserText);
}

function isUserText(item: InputItem | z.output<typeof chatMessage>): boolean {
  return (
    item.type === 'message' &&
    item.role === 'user' &&
    item.content.some((part) => part.type === 'text' && part.text.trim() !== '')
  );
}

const chatMessage = chooseSchema((value) => {
  if (!isObject(value)) return { refuse: 'invalid_parameter', message: 'expected an object' };
  if (value.role === 'tool' || value.role === 'function') return toolMessage;
  return value.role === 'assistant' ? assistantMessage : message;
}).meta(componentRef('ChatMessage'));
const listOfMessages = boundedList(chatMessage, { min: 1, max: MAX_ITEMS });

/** Whatever they say: a model may be told by its instructions alone, or be shown an image. */
export const threadMessages = chooseSchema((value) =>
  Array.isArray(value)
    ? (tooMany(value) ?? listOfMessages)
    : { refuse: 'invalid_parameter', message: 'expected an array of messages' },
);

/** Messages that ask something. */
export const messageList = threadMessages
  .refine(asksSomething, NO_USER_TEXT)
  .meta({ type: 'array', items: componentRef('ChatMessage'), minItems: 1 });

/** For the API description, by component name. */
export const messageComponents = {
  ...foreignComponents,
  ContentPart: anyContentPart,
  Content: z.union([z.string(), contentParts]),
  InputMessage: message,
  InputItem: z
    .union([
      z.unknown().meta(componentRef('InputMessage')),
      itemReference,
      priorToolCall,
      priorReasoning,
      compaction,
      settingItems.additional_tools,
      settingItems.configuration_update,
      z
        .object({ type: z.literal(COMPACTION_TRIGGER) })
        .describe('As the last item, for a plain model: the output is a `compaction` item and nothing else.'),
      z.unknown().meta(componentRef('PriorItem')),
    ])
    .describe('A message, or an item copied from an earlier `output`.'),
  Input: z.union([textInput, inputItems]).describe('A prompt, or items with at least one user message that has text.'),
  ChatMessage: z
    .union([message, assistantMessage, toolMessage])
    .describe('What an assistant said or called, and what a tool answered, becomes context.'),
};
