import { isObject } from '../../base/json.ts';
import type { TurnRequest } from '../turn.ts';

/** Counting tokens where no provider has: the one estimate that limits and prices rest on. */

/** Tokens that a message costs besides its text. */
const MESSAGE_OVERHEAD = 4;

/** Tokens of an image or another attachment. */
const ATTACHMENT_TOKENS = 1000;

/** JSON is not looked into deeper than this; whoever wrote it may be hostile. */
const MOST_DEPTH = 64;

/**
 * An estimate of the tokens in `text`, in fractions so that pieces can be added up: four characters of Latin script, or
 * one and a half of any other, make one. Within some 20 % of real tokenisers, above rather than below.
 */
export function tokenWeight(text: string): number {
  let wide = 0;
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0x2ff) wide += 1;
  return (text.length - wide) / 4 + wide / 1.5;
}

export function roughTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** Parts of a request in the words of all APIs: what the model reads as it is, and what it reads as JSON. */
const READ = ['messages', 'input', 'prompt', 'instructions', 'system', 'suffix', 'query', 'documents'];
const READ_AS_JSON = ['tools', 'functions', 'response_format', 'text', 'responseFormat'];
/** What stands in messages and is not read. */
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

/** An estimate of the tokens that a request costs before the model says a word. `body`: of any API. */
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
  // Text that was taken apart by its client: each number is a token.
  if (typeof value === 'number') return 1;
  if (depth > MOST_DEPTH) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weigh(item, depth + 1), 0);
  if (!isObject(value)) return 0;
  if (typeof value.type === 'string' && /image|audio|file|document|video/.test(value.type)) return ATTACHMENT_TOKENS;
  let weight = value.role === undefined ? 0 : MESSAGE_OVERHEAD;
  for (const [name, part] of Object.entries(value)) if (!UNREAD.has(name)) weight += weigh(part, depth + 1);
  return weight;
}

function isAttached(text: string): boolean {
  return text.startsWith('data:') && text.slice(0, 128).includes(';base64,');
}

/** The same of a turn of the research loop. */
export function estimateInput({ messages, tools = [], responseFormat }: TurnRequest): number {
  return promptTokens({ messages, ...(tools.length > 0 && { tools }), ...(responseFormat && { responseFormat }) });
}
