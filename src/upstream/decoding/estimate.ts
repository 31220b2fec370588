import { isObject } from '../../base/json.ts';
import { noUsage, type TurnMessage, type TurnRequest, type TurnTool, type TurnUsage } from '../turn.ts';

/** Estimates tokens that no provider counted, for limits, prices and contexts alike. */

/** Tokens that a provider adds around each message: as charged for, and as reserved in a context. */
const CHARGED_OVERHEAD = 4;
const MESSAGE_OVERHEAD = 6;

/** Tokens of an image or another attachment, whatever its size. */
export const ATTACHMENT_TOKENS = 1000;

/** The bytes that count as one token where the text cannot be read. */
export const BYTES_PER_TOKEN = 4;

/** An estimate of the tokens of a multipart form of this many bytes, most of which are files. */
export function formTokens(bytes: number): number {
  return Math.min(ATTACHMENT_TOKENS, Math.ceil(bytes / BYTES_PER_TOKEN));
}

/** JSON nested deeper is not read: its author may be hostile. */
const MAX_DEPTH = 64;

/** Scripts from this code unit on are written without spaces, at about one token a character. */
const FIRST_WIDE = 0x2e80;
const WIDE_TOKENS = 1;
const OTHER_SCRIPT_TOKENS = 0.5;
const ASCII_TOKENS = Float64Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[A-Za-z ]/.test(character)) return 0.25;
  return /[0-9]/.test(character) ? 0.4 : 0.6;
});
/** A run of one character (indents, rules, borders of tables) is few tokens. */
const REPEATED_TOKENS = ASCII_TOKENS.map((tokens, code) =>
  /[\s\-=*_.#]/.test(String.fromCharCode(code)) ? 0.1 : tokens,
);

/** An estimate of the tokens in `text`, too many rather than too few; a fraction, so that pieces can be added up. */
export function tokenWeight(text: string): number {
  let tokens = 0;
  let previous = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) tokens += code >= FIRST_WIDE ? WIDE_TOKENS : OTHER_SCRIPT_TOKENS;
    else tokens += (code === previous ? REPEATED_TOKENS[code] : ASCII_TOKENS[code]) ?? 0;
    previous = code;
  }
  return tokens;
}

/** As `tokenWeight`, in whole tokens. */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** The fewest tokens that any tokeniser makes of `text`: a text with more of them than allowed is certainly too long. */
export function minTokens(text: string): number {
  const { length } = text.replace(RUNS, '$1');
  const wide = text.match(WIDE)?.length ?? 0;
  return (length - wide) / 5.5 + wide * 0.55;
}

const RUNS = /([\s\-=*_.#|])\1+/g;
const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/g;

/** The estimated tokens of a request of the research loop. */
export function estimateRequest(messages: readonly TurnMessage[], tools: readonly TurnTool[] = []): number {
  let tokens = tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0;
  for (const message of messages) tokens += estimates.getOrInsertComputed(message, countMessage);
  return tokens;
}

/** Messages never change, and most of them are sent again with every turn. */
const estimates = new WeakMap<TurnMessage, number>();

function countMessage(message: TurnMessage): number {
  let tokens = MESSAGE_OVERHEAD;
  if (typeof message.content === 'string') tokens += estimateTokens(message.content);
  else {
    for (const part of message.content) tokens += part.type === 'text' ? estimateTokens(part.text) : ATTACHMENT_TOKENS;
  }
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) tokens += MESSAGE_OVERHEAD + estimateTokens(call.name + call.arguments);
  tokens += (message.images?.length ?? 0) * ATTACHMENT_TOKENS;
  if (message.replay) tokens += estimateTokens(JSON.stringify(message.replay.fields));
  return tokens;
}

/** As `estimateRequest`, with the requested format. */
export function estimateInput({ messages, tools, responseFormat }: TurnRequest): number {
  return estimateRequest(messages, tools) + (responseFormat ? estimateTokens(JSON.stringify(responseFormat)) : 0);
}

/** The usage of a turn that no provider counted. `estimate`: of its request; `text`: what was received. */
export function estimatedUsage({ estimate, text }: { estimate: number; text: string }): TurnUsage {
  return { ...noUsage(), inputTokens: estimate, outputTokens: estimateTokens(text), estimated: true };
}

/** Fields of a request, in any API, that the model reads: as text, and as JSON. */
const READ = ['messages', 'input', 'prompt', 'instructions', 'system', 'suffix', 'query', 'documents'];
const READ_AS_JSON = ['tools', 'functions', 'response_format', 'text', 'responseFormat'];
/** Fields inside messages that the model does not read. */
const UNREAD = new Set([
  'role',
  'type',
  'id',
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'status',
  'detail',
  'media_type',
]);

/** An estimate of the input tokens of a request. `body`: of any API. */
export function promptTokens(body: object): number {
  let weight = 0;
  for (const [name, value] of Object.entries(body)) {
    if (READ.includes(name)) weight += weigh(value, 0);
    else if (READ_AS_JSON.includes(name)) weight += tokenWeight(JSON.stringify(value));
  }
  return Math.ceil(weight);
}

function weigh(value: unknown, depth: number): number {
  if (typeof value === 'string') return isAttached(value) ? ATTACHMENT_TOKENS : tokenWeight(value);
  // A prompt that the client tokenised: each number is a token.
  if (typeof value === 'number') return 1;
  if (depth > MAX_DEPTH) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weigh(item, depth + 1), 0);
  if (!isObject(value)) return 0;
  if (typeof value.type === 'string' && /image|audio|file|document|video/.test(value.type)) return ATTACHMENT_TOKENS;
  let weight = value.role === undefined ? 0 : CHARGED_OVERHEAD;
  for (const [name, part] of Object.entries(value)) if (!UNREAD.has(name)) weight += weigh(part, depth + 1);
  return weight;
}

/** Fields whose base64 is an attachment; in a message's own text it is text. */
const ATTACHED = new Set(['url', 'image_url', 'file_data']);

/** The attachments inside a request as base64: how many, and how many bytes of the body they take. */
export function attachmentsIn({ messages, input, system }: Readonly<Record<string, unknown>>): Attachments {
  const found = { count: 0, bytes: 0 };
  for (const part of [messages, input, system]) {
    if (typeof part === 'object' && part !== null) addAttachments(part, found, 0);
  }
  return found;
}

interface Attachments {
  count: number;
  bytes: number;
}

function addAttachments(value: object, found: Attachments, depth: number): void {
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    // A list of numbers or texts has no attachments, and may be very long.
    if (typeof value[0] !== 'object') return;
    for (const item of value) if (typeof item === 'object' && item !== null) addAttachments(item, found, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  for (const name in value) {
    const part = value[name];
    if (typeof part === 'object' && part !== null) addAttachments(part, found, depth + 1);
    else if (typeof part === 'string' && isBase64(name, part, value)) {
      found.count += 1;
      found.bytes += part.length;
    }
  }
}

/** Whether a field is an attachment. Base64 of a text is not: it counts as that text does. */
function isBase64(name: string, text: string, { type, format, media_type: media }: Record<string, unknown>): boolean {
  if (ATTACHED.has(name)) return isAttached(text) && !text.startsWith('data:text/');
  // Anthropic's sources; audio.
  const isData = name === 'data' && (type === 'base64' || (type === undefined && typeof format === 'string'));
  return isData && !(typeof media === 'string' && media.startsWith('text/'));
}

function isAttached(text: string): boolean {
  return text.startsWith('data:') && text.slice(0, 128).includes(';base64,');
}
