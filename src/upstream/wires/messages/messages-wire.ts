import { isObject, type JsonObject, type JsonValue, parseJson } from '../../../base/json.ts';
import { withInstruction } from '../../dialects/requests/added-instruction.ts';
import { applyOutputBound } from '../../dialects/requests/output-limit.ts';
import { applyRefusedParameters, formatInstruction } from '../../dialects/requests/refused-parameters.ts';
import { sentArguments } from '../../dialects/requests/tool-arguments.ts';
import { ToolNames } from '../../dialects/requests/tool-names.ts';
import type { AssistantMessage, TurnMessage, TurnRequest, UserPart } from '../../turn.ts';
import { replayedFields } from '../replayed-fields.ts';
import { withUniqueCallIds } from '../unique-call-ids.ts';
import type { BodyTarget, Wire, WireRequest } from '../wire.ts';
import { markCache } from './cache-marks.ts';
import { MessagesReader } from './messages-reader.ts';

/** Anthropic's Messages API as an upstream: thinking goes back with its signatures, the cache is marked. */
export const messagesWire: Wire = {
  path: '/messages',
  api: 'messages',
  request: messagesBody,
  reader: (options) => new MessagesReader(options),
};

/** The field is required; thinking counts in. */
const DEFAULT_OUTPUT = 16_384;
const CALL_IDS = { pattern: /^[a-zA-Z0-9_-]+$/, longest: 64 };
/** The least and the most that older models are given to think, in tokens. */
const MIN_THINKING = 1024;
const MAX_THINKING = 16_000;

function messagesBody(request: TurnRequest, target: BodyTarget): WireRequest {
  const { traits } = target;
  const names = new ToolNames((request.tools ?? []).map((tool) => tool.name));
  const formatted =
    request.responseFormat === undefined
      ? request.messages
      : withInstruction(request.messages, formatInstruction(request.responseFormat));
  const told = withUniqueCallIds(formatted, CALL_IDS);
  const [first, ...rest] = told;
  const system = first?.role === 'system' && first.content !== '' ? first.content : undefined;
  const history = system === undefined ? told : rest;
  const body: JsonObject = { model: target.model, max_tokens: DEFAULT_OUTPUT, stream: true };
  applyOutputBound(body, 'max_tokens', request.maxOutputTokens ?? DEFAULT_OUTPUT, traits);
  const thinking = thinkingFor(history, target, Number(body.max_tokens));
  const messages = turnsOf(history, { target, names, keepsThinking: thinking !== undefined });
  if (messages.at(-1)?.role === 'assistant') {
    // Nobody who thinks, and no newer model, goes on with words put into its mouth.
    messages.push({ role: 'user', content: [textBlock('Go on exactly where you stopped. Repeat nothing.')] });
  }
  if (system !== undefined) body.system = [textBlock(system)];
  body.messages = messages;
  if (thinking) body.thinking = thinking;
  addTools(body, request, { target, names });
  if (!thinking && request.temperature !== undefined) body.temperature = Math.min(1, request.temperature);
  if (!thinking && request.topP !== undefined) body.top_p = request.topP;
  applyRefusedParameters(body, traits);
  if (!traits.refusedParameters.has('cache_control')) markCache(body, messages);
  return { body, names };
}

function addTools(
  body: JsonObject,
  request: TurnRequest,
  { target, names }: { target: BodyTarget; names: ToolNames },
): void {
  const { tools = [], toolChoice } = request;
  const cannot = toolChoice === 'none' && target.traits.refusedParameters.has('tool_choice');
  // A history with calls needs its tools defined.
  if (tools.length === 0 || cannot) return;
  body.tools = tools.map(({ name, description, parameters }) => ({
    name: names.safe(name),
    description,
    input_schema: { type: 'object', ...parameters },
  }));
  if (toolChoice === 'none') body.tool_choice = { type: 'none' };
}

/**
 * The thinking that is asked for. Older models, which think only on request, refuse a tool loop that does not begin
 * with a thought: a loop that another provider began goes on without.
 */
function thinkingFor(history: readonly TurnMessage[], target: BodyTarget, maxTokens: number): JsonObject | undefined {
  const { thinking } = target.traits;
  if (thinking === 'off' || target.run.withoutThinking) return undefined;
  if (thinking === 'summarized') return { type: 'adaptive', display: 'summarized' };
  if (thinking === 'adaptive') return { type: 'adaptive' };
  const caller = history.findLast((message) => message.role === 'assistant' && message.tool_calls);
  const isInLoop = history.at(-1)?.role === 'tool';
  if (isInLoop && caller?.role === 'assistant' && !startsWithThought(caller, target)) return undefined;
  const budget = Math.min(MAX_THINKING, Math.floor(maxTokens / 2));
  return budget < MIN_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
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
function turnsOf(history: readonly TurnMessage[], telling: Telling): { role: string; content: JsonObject[] }[] {
  const turns: { role: string; content: JsonObject[] }[] = [];
  for (const message of history) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, telling);
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  if (turns[0]?.role === 'assistant') turns.unshift({ role: 'user', content: [textBlock('Go on.')] });
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
    const input = parseJson(sentArguments(text));
    blocks.push({ type: 'tool_use', id, name: names.safe(name), input: isJsonObject(input) ? input : {} });
  }
  return blocks;
}

/** The blocks as they were received. A thought without its signature, of a cut stream, is never valid. */
function replayedBlocks(message: AssistantMessage, target: BodyTarget): JsonObject[] | undefined {
  const content = replayedFields(message, target)?.content;
  if (!Array.isArray(content)) return undefined;
  const blocks = content.filter(isJsonObject);
  const signed = blocks.filter((block) => block.type !== 'thinking' || (block.signature ?? '') !== '');
  return signed.filter(
    (block) => block.type !== 'text' || (typeof block.text === 'string' && block.text.trim() !== ''),
  );
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
  if (typeof content === 'string') return content.trim() === '' ? [] : [textBlock(content)];
  return content.flatMap((part) => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [textBlock(part.text)];
    return [{ type: 'image', source: imageSource(part.image_url.url) }];
  });
}

function imageSource(url: string): JsonValue {
  const data = /^data:(image\/[\w.+-]+);base64,/.exec(url);
  if (!data?.[1]) return { type: 'url', url };
  return { type: 'base64', media_type: data[1], data: url.slice(data[0].length) };
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}
