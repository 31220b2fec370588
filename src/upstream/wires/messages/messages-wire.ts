import { isObject, type JsonObject, type JsonValue, scalarText } from '../../../base/json.ts';
import { marked, markFromEnd } from '../../dialects/requests/cache-marks.ts';
import { formatInstruction, IN_WORDS, withInstruction } from '../../dialects/requests/instructions.ts';
import { CONTINUE_PROMPT } from '../../dialects/requests/message-order.ts';
import { dropRefused } from '../../dialects/requests/refused-parameters.ts';
import { objectArguments } from '../../dialects/requests/tool-arguments.ts';
import { ToolNames } from '../../dialects/requests/tool-names.ts';
import { shapedRequest } from '../../dialects/requests/traits.ts';
import type { Adaptation, AssistantMessage, TurnMessage, TurnRequest, TurnToolChoice, UserPart } from '../../turn.ts';
import { replayedParts } from '../replayed.ts';
import { withUniqueCallIds } from '../unique-call-ids.ts';
import type { BodyTarget, Wire, WireRequest } from '../wire.ts';
import { exactInput } from './exact-input.ts';
import { MessagesReader } from './messages-reader.ts';
import { outputConfig } from './output-format.ts';

/** Anthropic's Messages API: thinking is sent back with its signatures, and the cache is marked. */
export const messagesWire: Wire = {
  path: '/messages',
  api: 'messages',
  endsWithEvent: true,
  request: messagesBody,
  reader: (options) => new MessagesReader(options),
};

/** The default of `max_tokens`, which the API requires, in tokens; thinking counts towards it. */
const DEFAULT_OUTPUT = 16_384;
const CALL_IDS = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 };
/** The bounds of the thinking budget of older models, in tokens. */
const MIN_THINKING = 1024;
const MAX_THINKING = 16_000;
const THINKING_OF_EFFORT = new Map([
  ['minimal', MIN_THINKING],
  ['low', 2048],
  ['medium', 8192],
]);

type Turn = { role: string; content: JsonObject[] };

function messagesBody(turn: TurnRequest, target: BodyTarget): WireRequest {
  const { traits } = target;
  const request = shapedRequest(turn, traits, 'messages');
  const names = new ToolNames((turn.tools ?? []).map((tool) => tool.name));
  const { responseFormat: format } = request;
  const formatted = format ? withInstruction(request.messages, formatInstruction(format)) : request.messages;
  const input = withUniqueCallIds(formatted, CALL_IDS);
  const [first, ...rest] = input;
  // The API requires a message, so a system prompt alone is sent as one.
  const isPrompt = first?.role === 'system' && first.content !== '' && rest.length > 0;
  const system = isPrompt ? [textBlock(first.content)] : undefined;
  const history = system === undefined ? input : rest;
  const maxTokens = request.maxOutputTokens ?? Math.min(DEFAULT_OUTPUT, traits.outputLimit ?? DEFAULT_OUTPUT);
  // The API refuses thinking together with a forced tool call.
  const { reasoningEffort: effort } = turn;
  const thinking = isForced(request) ? undefined : thinkingFor(history, target, { maxTokens, effort });
  const context = { target, names, keepsThinking: thinking !== undefined };
  const messages = turnsOf(history, context);
  const marksCache = !traits.refusedParameters.has('cache_control');
  if (marksCache) {
    const changing = turn.messages.length - (turn.stablePrefix ?? turn.messages.length);
    const tail = changing === 0 ? [] : history.slice(-changing);
    markTurns(messages, tail.flatMap((message) => blocksOf(message, context)).length);
  }
  // Newer models, and any that think, refuse to continue an assistant message.
  if (messages.at(-1)?.role === 'assistant') messages.push({ role: 'user', content: [textBlock(CONTINUE_PROMPT)] });
  const output_config = { ...outputConfig(format), ...effortFor(thinking, request.reasoningEffort) };
  const body: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    stream: true,
    ...(system && { system: marksCache ? system.map(marked) : system }),
    messages,
    ...(thinking ? { thinking } : samplingOf(request)),
    ...toolsOf(withCalledTools(request), names),
    ...(request.stop && { stop_sequences: [...request.stop] }),
    ...(Object.keys(output_config).length > 0 && { output_config }),
  };
  dropRefused(body, traits);
  const adapted = adaptations(request, body);
  return { body, names, ...(adapted.length > 0 && { adapted }) };
}

/** What a body does not have as it was asked for. The API refuses any sampling but its defaults while the model thinks. */
function adaptations({ temperature = 1, topP = 1, responseFormat }: TurnRequest, body: JsonObject): Adaptation[] {
  const adapted: Adaptation[] = [];
  for (const [param, value] of Object.entries({ temperature, top_p: topP })) {
    if (value === 1) continue;
    if (body.thinking)
      adapted.push({ param, message: `The provider takes no ${param} while the model thinks: it was left out.` });
    else if (value > 1 && param in body)
      adapted.push({ param, message: `The provider takes a ${param} of at most 1: it was sent 1.` });
  }
  if (responseFormat && !(isObject(body.output_config) && body.output_config.format)) adapted.push(IN_WORDS);
  return adapted;
}

function samplingOf({ temperature, topP }: TurnRequest): JsonObject {
  return {
    ...(temperature !== undefined && { temperature: Math.min(1, temperature) }),
    ...(topP !== undefined && { top_p: topP }),
  };
}

/** The API wants the tools of a history with calls defined, even where none is on offer any more. */
function withCalledTools(request: TurnRequest): TurnRequest {
  if (request.tools?.length) return request;
  const calls = request.messages.flatMap((message) => (message.role === 'assistant' && message.tool_calls) || []);
  const tools = [...new Set(calls.map(({ name }) => name))].map((name) => ({
    name,
    description: 'No longer on offer.',
    parameters: { type: 'object', properties: {} },
  }));
  return tools.length > 0 ? { ...request, tools, toolChoice: 'none' } : request;
}

function toolsOf({ tools = [], toolChoice = 'auto', oneCallAtOnce }: TurnRequest, names: ToolNames): JsonObject {
  if (tools.length === 0) return {};
  const offered = tools.map(({ name, description, parameters }) => {
    return { name: names.safe(name), description, input_schema: { type: 'object', ...parameters } };
  });
  const isSingle = oneCallAtOnce && toolChoice !== 'none';
  const choice = { ...choiceOf(toolChoice, names), ...(isSingle && { disable_parallel_tool_use: true }) };
  return { tools: offered, ...((isSingle || toolChoice !== 'auto') && { tool_choice: choice }) };
}

function choiceOf(choice: TurnToolChoice, names: ToolNames): JsonObject {
  if (typeof choice === 'object') return { type: 'tool', name: names.safe(choice.name) };
  return { type: choice === 'required' ? 'any' : choice };
}

function isForced({ tools = [], toolChoice = 'auto' }: TurnRequest): boolean {
  return tools.length > 0 && toolChoice !== 'auto' && toolChoice !== 'none';
}

/**
 * Marks the end of the conversation for the cache, but not its last blocks that are `changing`: no later request repeats
 * them, and an entry that ends with them is never read. A turn with many results gets further marks.
 */
function markTurns(turns: readonly Turn[], changing: number): void {
  const blocks = turns.flatMap(({ content }) => content.map((block, at) => ({ content, block, at })));
  markFromEnd(blocks.length - changing, (place) => {
    const target = blocks[place];
    // Thinking blocks cannot be marked.
    if (!target || !/^(?:text|tool_use|tool_result|image|document)$/.test(scalarText(target.block.type))) return false;
    target.content[target.at] = marked(target.block);
    return true;
  });
}

/**
 * The `thinking` parameter. Older models, which think only on request, refuse a tool loop that does not begin with a
 * thinking block, so a loop that another provider began continues without thinking.
 */
function thinkingFor(
  history: readonly TurnMessage[],
  target: BodyTarget,
  { maxTokens, effort = '' }: { maxTokens: number; effort: string | undefined },
): JsonObject | undefined {
  const { thinking } = target.traits;
  if (thinking === 'off' || effort === 'none' || target.run.withoutThinking) return undefined;
  if (thinking === 'summarized') return { type: 'adaptive', display: 'summarized' };
  if (thinking === 'adaptive') return { type: 'adaptive' };
  const caller = history.findLast((message) => message.role === 'assistant' && message.tool_calls);
  const isInLoop = history.at(-1)?.role === 'tool';
  if (isInLoop && caller?.role === 'assistant' && !startsWithThinking(caller, target)) return undefined;
  const budget = Math.min(THINKING_OF_EFFORT.get(effort) ?? MAX_THINKING, Math.floor(maxTokens / 2));
  return budget < MIN_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}

/** The effort that an adaptive model is asked for. */
function effortFor(thinking: JsonObject | undefined, effort: string | undefined): JsonObject {
  if (thinking?.type !== 'adaptive' || effort === undefined) return {};
  return { effort: effort === 'minimal' ? 'low' : effort };
}

function startsWithThinking(message: AssistantMessage, target: BodyTarget): boolean {
  const [first] = message.rebased ? [] : (replayedBlocks(message, target) ?? []);
  return first !== undefined && isThinking(first);
}

interface BlockContext {
  target: BodyTarget;
  names: ToolNames;
  keepsThinking: boolean;
}

/** The messages with neighbours of one role joined, as the API requires. */
function turnsOf(history: readonly TurnMessage[], context: BlockContext): Turn[] {
  const turns: Turn[] = [];
  for (const message of history) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, context);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [textBlock('Go on.')] });
  return turns;
}

function blocksOf(message: TurnMessage, context: BlockContext): JsonObject[] {
  switch (message.role) {
    case 'system':
      return message.content.trim() === '' ? [] : [textBlock(message.content)];
    case 'user':
      return userBlocks(message.content);
    case 'tool': {
      const { tool_call_id: id, content } = message;
      return [{ type: 'tool_result', tool_use_id: id, ...(content === '' ? {} : { content }) }];
    }
    case 'assistant':
      return assistantBlocks(message, context);
  }
}

function assistantBlocks(message: AssistantMessage, { target, names, keepsThinking }: BlockContext): JsonObject[] {
  const received = replayedBlocks(message, target);
  const calls = message.tool_calls ?? [];
  if (received && matchesMessage(received, message, names)) {
    const made = calls.values();
    return received
      .filter((block) => (keepsThinking && !message.rebased) || !isThinking(block))
      .map((block) => {
        const call = block.type === 'tool_use' ? made.next().value : undefined;
        return call ? { ...block, id: call.id, input: exactInput(call.arguments) ?? block.input ?? {} } : block;
      });
  }
  const blocks = message.content.trim() === '' ? [] : [textBlock(message.content.trimEnd())];
  for (const { id, name, arguments: text } of calls) {
    // Arguments come from clients as text; those nested too deep to be written as JSON again stay text.
    blocks.push({
      type: 'tool_use',
      id,
      name: names.safe(name),
      input: exactInput(objectArguments(text)) ?? { raw: text },
    });
  }
  return blocks;
}

/** The blocks as received, without thinking that has no signature (of a cut stream), which is never valid. */
function replayedBlocks(message: AssistantMessage, target: BodyTarget): JsonObject[] | undefined {
  return replayedParts(message, 'content', target)?.filter(({ type, signature, text }) => {
    if (type === 'thinking') return (signature ?? '') !== '';
    return type !== 'text' || (typeof text === 'string' && text.trim() !== '');
  });
}

/** Whether the received blocks still match the message, which may have been changed since. */
function matchesMessage(blocks: readonly JsonObject[], message: AssistantMessage, names: ToolNames): boolean {
  const text = blocks.map((block) => (block.type === 'text' ? scalarText(block.text) : '')).join('');
  const used = blocks
    .filter((block) => block.type === 'tool_use')
    .map((block) => names.original(scalarText(block.name)));
  const called = (message.tool_calls ?? []).map(({ name }) => name);
  return text.trim() === message.content.trim() && used.join('\n') === called.join('\n');
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function userBlocks(content: string | UserPart[]): JsonObject[] {
  const parts: UserPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return parts.filter((part) => part.type !== 'text' || part.text.trim() !== '').map(userBlock);
}

function userBlock(part: UserPart): JsonObject {
  switch (part.type) {
    case 'text':
      return textBlock(part.text);
    case 'image_url':
      return { type: 'image', source: imageSource(part.image_url.url) };
    case 'file':
      return {
        type: 'document',
        source: dataSource('application/pdf', part.file.file_data),
        title: part.file.filename,
      };
    case 'input_audio':
      // The configuration refuses audio models on this wire, but a key may have routes of its own.
      return textBlock('(audio that cannot be heard here)');
  }
}

function imageSource(url: string): JsonValue {
  const type = /^data:(image\/[\w.+-]+);base64,/.exec(url)?.[1];
  return type ? dataSource(type, url) : { type: 'url', url };
}

function dataSource(type: string, url: string): JsonValue {
  return { type: 'base64', media_type: type, data: url.slice(url.indexOf(',') + 1) };
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}
