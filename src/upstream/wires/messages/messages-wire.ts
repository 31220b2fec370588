import { isObject, type JsonObject, type JsonValue } from '../../../base/json.ts';
import { parseReadable } from '../../../protocol/requests/json-spans.ts';
import { marked, markFromEnd } from '../../dialects/requests/cache-marks.ts';
import { formatInstruction, withInstruction } from '../../dialects/requests/instructions.ts';
import { GO_ON } from '../../dialects/requests/message-order.ts';
import { leaveOutRefused } from '../../dialects/requests/refused-parameters.ts';
import { sentArguments } from '../../dialects/requests/tool-arguments.ts';
import { ToolNames } from '../../dialects/requests/tool-names.ts';
import { shapedRequest } from '../../dialects/requests/traits.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, TurnToolChoice, UserPart } from '../../turn.ts';
import { replayedParts } from '../replayed.ts';
import { withUniqueCallIds } from '../unique-call-ids.ts';
import type { BodyTarget, Wire, WireRequest } from '../wire.ts';
import { MessagesReader } from './messages-reader.ts';
import { outputConfig } from './output-format.ts';

/** Anthropic's Messages API as an upstream: thinking goes back with its signatures, the cache is marked. */
export const messagesWire: Wire = {
  path: '/messages',
  api: 'messages',
  endsWithEvent: true,
  request: messagesBody,
  reader: (options) => new MessagesReader(options),
};

/** The field is required; thinking counts in. */
const DEFAULT_OUTPUT = 16_384;
const CALL_IDS = { pattern: /^[a-zA-Z0-9_-]+$/, longest: 64 };
/** The least and the most that older models are given to think, in tokens. */
const MIN_THINKING = 1024;
const MAX_THINKING = 16_000;
const THINKING_OF_EFFORT = new Map([
  ['minimal', MIN_THINKING],
  ['low', 2048],
  ['medium', 8192],
]);
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

type Turn = { role: string; content: JsonObject[] };

function messagesBody(asked: TurnRequest, target: BodyTarget): WireRequest {
  const { traits } = target;
  const request = shapedRequest(asked, traits, 'messages');
  const names = new ToolNames((asked.tools ?? []).map((tool) => tool.name));
  const { responseFormat: format } = request;
  const formatted = format ? withInstruction(request.messages, formatInstruction(format)) : request.messages;
  const told = withUniqueCallIds(formatted, CALL_IDS);
  const [first, ...rest] = told;
  // A system prompt alone is what is asked: the API takes none without a message.
  const isPrompt = first?.role === 'system' && first.content !== '' && rest.length > 0;
  const system = isPrompt ? [textBlock(first.content)] : undefined;
  const history = system === undefined ? told : rest;
  const maxTokens = request.maxOutputTokens ?? Math.min(DEFAULT_OUTPUT, traits.outputLimit ?? DEFAULT_OUTPUT);
  // A model that is made to call a tool must not think first.
  const { reasoningEffort: effort } = request;
  const thinking = isForced(request) ? undefined : thinkingFor(history, target, { maxTokens, effort });
  const messages = turnsOf(history, { target, names, keepsThinking: thinking !== undefined });
  // Nobody who thinks, and no newer model, goes on with words put into its mouth.
  if (messages.at(-1)?.role === 'assistant') messages.push({ role: 'user', content: [textBlock(GO_ON)] });
  const output_config = { ...outputConfig(format), ...effortFor(thinking, target, effort) };
  const marks = !traits.refusedParameters.has('cache_control');
  if (marks) markTurns(messages);
  const body: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    stream: true,
    ...(system && { system: marks ? system.map(marked) : system }),
    messages,
    ...(thinking ? { thinking } : samplingOf(request)),
    ...toolsOf(withCalledTools(request), names),
    ...(request.stop && { stop_sequences: [...request.stop] }),
    ...(Object.keys(output_config).length > 0 && { output_config }),
  };
  leaveOutRefused(body, traits);
  return { body, names };
}

function samplingOf({ temperature, topP }: TurnRequest): JsonObject {
  return {
    ...(temperature !== undefined && { temperature: Math.min(1, temperature) }),
    ...(topP !== undefined && { top_p: topP }),
  };
}

/** A history with calls needs its tools defined, also where none is on offer any more. */
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
  const one = oneCallAtOnce && toolChoice !== 'none';
  const choice = { ...choiceOf(toolChoice, names), ...(one && { disable_parallel_tool_use: true }) };
  return { tools: offered, ...((one || toolChoice !== 'auto') && { tool_choice: choice }) };
}

function choiceOf(choice: TurnToolChoice, names: ToolNames): JsonObject {
  if (typeof choice === 'object') return { type: 'tool', name: names.safe(choice.name) };
  return { type: choice === 'required' ? 'any' : choice };
}

function isForced({ tools = [], toolChoice = 'auto' }: TurnRequest): boolean {
  return tools.length > 0 && toolChoice !== 'auto' && toolChoice !== 'none';
}

/** Marks where the cache ends: at the end of the conversation. A turn with many results gets further marks. */
function markTurns(turns: readonly Turn[]): void {
  const blocks = turns.flatMap(({ content }) => content.map((block, at) => ({ content, block, at })));
  markFromEnd(blocks.length, (place) => {
    const found = blocks[place];
    // Thoughts cannot be marked.
    if (!found || !/^(?:text|tool_use|tool_result|image|document)$/.test(String(found.block.type))) return false;
    found.content[found.at] = marked(found.block);
    return true;
  });
}

/**
 * The thinking that is asked for. Older models, which think only on request, refuse a tool loop that does not begin
 * with a thought: a loop that another provider began goes on without.
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
  if (isInLoop && caller?.role === 'assistant' && !startsWithThought(caller, target)) return undefined;
  const budget = Math.min(THINKING_OF_EFFORT.get(effort) ?? MAX_THINKING, Math.floor(maxTokens / 2));
  return budget < MIN_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}

/** How much a model that thinks by its own measure is asked to. Words of other APIs become the nearest of this one. */
function effortFor(thinking: JsonObject | undefined, target: BodyTarget, effort = ''): JsonObject {
  const { mostEffort } = target.traits;
  const asked = effort === 'minimal' ? 'low' : effort;
  if (thinking?.type !== 'adaptive' || mostEffort === 'none' || !EFFORTS.includes(asked)) return {};
  return { effort: mostEffort === 'high' && (asked === 'xhigh' || asked === 'max') ? 'high' : asked };
}

function startsWithThought(message: AssistantMessage, target: BodyTarget): boolean {
  const [first] = message.rebased ? [] : (replayedBlocks(message, target) ?? []);
  return first !== undefined && isThought(first);
}

interface Telling {
  target: BodyTarget;
  names: ToolNames;
  keepsThinking: boolean;
}

/** The messages, with neighbours of one role joined: results of calls first, then what the user says. */
function turnsOf(history: readonly TurnMessage[], telling: Telling): Turn[] {
  const turns: Turn[] = [];
  for (const message of history) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, telling);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [textBlock('Go on.')] });
  return turns;
}

function blocksOf(message: TurnMessage, telling: Telling): JsonObject[] {
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
      return assistantBlocks(message, telling);
  }
}

function assistantBlocks(message: AssistantMessage, { target, names, keepsThinking }: Telling): JsonObject[] {
  const received = replayedBlocks(message, target);
  const calls = message.tool_calls ?? [];
  if (received && saysTheSame(received, message, names)) {
    const ids = calls.map(({ id }) => id);
    return received
      .filter((block) => (keepsThinking && !message.rebased) || !isThought(block))
      .map((block) => (block.type === 'tool_use' ? { ...block, id: ids.shift() ?? block.id ?? '' } : block));
  }
  const blocks = message.content.trim() === '' ? [] : [textBlock(message.content.trimEnd())];
  for (const { id, name, arguments: text } of calls) {
    // Clients send arguments as a text, and what is too deep in one could not be written as JSON again.
    const input = parseReadable(sentArguments(text));
    blocks.push({ type: 'tool_use', id, name: names.safe(name), input: isObject(input) ? input : { raw: text } });
  }
  return blocks;
}

/** The blocks as they were received. A thought without its signature, of a cut stream, is never valid. */
function replayedBlocks(message: AssistantMessage, target: BodyTarget): JsonObject[] | undefined {
  return replayedParts(message, 'content', target)?.filter(({ type, signature, text }) => {
    if (type === 'thinking') return (signature ?? '') !== '';
    return type !== 'text' || (typeof text === 'string' && text.trim() !== '');
  });
}

/** Whether blocks still say what the message says; it may have been changed since. */
function saysTheSame(blocks: readonly JsonObject[], message: AssistantMessage, names: ToolNames): boolean {
  const text = blocks.map((block) => (block.type === 'text' ? String(block.text) : '')).join('');
  const used = blocks.filter((block) => block.type === 'tool_use').map((block) => names.original(String(block.name)));
  const called = (message.tool_calls ?? []).map(({ name }) => name);
  return text.trim() === message.content.trim() && used.join('\n') === called.join('\n');
}

function isThought({ type }: JsonObject): boolean {
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
      // The configuration offers it over this API to nobody; a key may have routes of its own.
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
