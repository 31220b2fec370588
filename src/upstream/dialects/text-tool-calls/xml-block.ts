import type { JsonObject } from '../../../base/json.ts';
import { argumentsText, type FoundCall, type OfferedTools } from './offered-tools.ts';

/**
 * Calls written as XML, in the forms that models were trained on:
 * - `<server_name>s</server_name><tool_name>t</tool_name><arguments>{...}</arguments>` (use_mcp_tool)
 * - `<function=name><parameter=key>value</parameter></function>` (Qwen coder), or JSON inside the function tag (Llama)
 * - `<invoke name="tool"><parameter name="key">value</parameter></invoke>` (Anthropic, MiniMax, DeepSeek)
 * - `tool<arg_key>key</arg_key><arg_value>value</arg_value>` (GLM)
 */
export function xmlCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  return (
    serverTool(block, offered) ?? functionTags(block, offered) ?? invokeTags(block, offered) ?? argPairs(block, offered)
  );
}

/** A call whose tag is the tool's own name, with its parameters as tags: `<web_search><query>x</query></web_search>`. */
export function namedTagCall(name: string, inner: string, offered: OfferedTools): FoundCall[] | undefined {
  if (/^\s*\{/.test(inner)) return wrap(offered.call(name, argumentsText(inner)));
  const args: JsonObject = {};
  for (const [key, value] of childTags(inner)) args[key] = offered.argument(name, key, plainText(trimLines(value)));
  if (Object.keys(args).length === 0 && inner.trim() !== '') return undefined;
  return wrap(offered.call(name, JSON.stringify(args)));
}

/** A block with more tags than this is no call. */
const MAX_TAGS = 200;

/** The tags of a text, each with what stands in it. A closing tag is looked for once for each opening one. */
function* childTags(text: string): Iterable<[name: string, inner: string]> {
  const opening = /<([A-Za-z_][\w.-]*)>/g;
  for (let tags = 0; tags < MAX_TAGS; tags++) {
    const found = opening.exec(text);
    if (!found) return;
    const [, name = ''] = found;
    const closing = `</${name}>`;
    const end = text.indexOf(closing, opening.lastIndex);
    if (end === -1) continue;
    yield [name, text.slice(opening.lastIndex, end)];
    opening.lastIndex = end + closing.length;
  }
}

function serverTool(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const name = tag(block, 'tool_name');
  if (name === undefined) return undefined;
  const args = tag(block, 'arguments') ?? /<arguments>([\s\S]*)$/.exec(block)?.[1] ?? '{}';
  return wrap(offered.call(name, argumentsText(args), tag(block, 'server_name')));
}

function functionTags(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  for (const [, written = '', inner = ''] of block.matchAll(/<function=([^<>\s]+)\s*>([\s\S]*?)(?:<\/function>|$)/g)) {
    const name = offered.resolve(written) ?? written;
    const args = /^\s*\{/.test(inner)
      ? argumentsText(inner)
      : parameters(name, inner, /<parameter=([^<>\s]+)\s*>([\s\S]*?)(?:<\/parameter>|(?=<parameter=)|$)/g, offered);
    const call = offered.call(name, args);
    if (call) calls.push(call);
  }
  return calls.length > 0 ? calls : undefined;
}

function invokeTags(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  const invoke = /<[^<>\s]*invoke\s+name=["']?([^"'<>\s]+)["']?\s*>([\s\S]*?)(?:<\/[^<>\s]*invoke>|$)/g;
  for (const [, written = '', inner = ''] of block.matchAll(invoke)) {
    const name = offered.resolve(written) ?? written;
    const parameter =
      /<[^<>\s]*parameter\s+name=["']?([^"'<>\s]+)(?:["'\s][^<>]*)?>([\s\S]*?)(?:<\/[^<>\s]*parameter>|$)/g;
    const args = /^\s*\{/.test(inner) ? argumentsText(inner) : parameters(name, inner, parameter, offered);
    const call = offered.call(name, args);
    if (call) calls.push(call);
  }
  return calls.length > 0 ? calls : undefined;
}

function argPairs(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const written = /^\s*([\w.:/-]+)\s*(?=<arg_key>|$)/.exec(block)?.[1];
  if (written === undefined) return undefined;
  const name = offered.resolve(written);
  if (name === undefined && !block.includes('<arg_key>')) return undefined;
  return wrap(offered.call(name ?? written, argumentsOf(name ?? written, pairsIn(block), offered)));
}

const KEY = ['<arg_key>', '</arg_key>'] as const;
const VALUE = ['<arg_value>', '</arg_value>'] as const;

/** `<arg_key>key</arg_key><arg_value>value</arg_value>`; the last value may be open. */
function* pairsIn(text: string): Iterable<[key: string, value: string]> {
  for (let at = text.indexOf(KEY[0]); at !== -1; ) {
    const start = at + KEY[0].length;
    const end = text.indexOf(KEY[1], start);
    if (end === -1) return;
    const blanks = /\s*/y;
    blanks.lastIndex = end + KEY[1].length;
    blanks.exec(text);
    at = blanks.lastIndex;
    if (text.startsWith(VALUE[0], at)) {
      const from = at + VALUE[0].length;
      const to = text.indexOf(VALUE[1], from);
      yield [text.slice(start, end), to === -1 ? text.slice(from) : text.slice(from, to)];
      if (to === -1) return;
      at = to;
    }
    at = text.indexOf(KEY[0], at);
  }
}

function parameters(tool: string, text: string, pattern: RegExp, offered: OfferedTools): string {
  const pairs = text.matchAll(pattern).map(([, key = '', value = '']): [string, string] => [key, value]);
  return argumentsOf(tool, pairs, offered);
}

function argumentsOf(tool: string, pairs: Iterable<[key: string, value: string]>, offered: OfferedTools): string {
  const args: JsonObject = {};
  for (const [key, value] of pairs) {
    args[key.trim()] = offered.argument(tool, key.trim(), plainText(trimLines(value)));
  }
  return JSON.stringify(args);
}

function tag(text: string, name: string): string | undefined {
  const [opening, closing] = [`<${name}>`, `</${name}>`];
  const start = text.indexOf(opening);
  const end = start === -1 ? -1 : text.indexOf(closing, start + opening.length);
  return end === -1 ? undefined : text.slice(start + opening.length, end).trim();
}

/** One line break on each side belongs to the markup, not to the value. */
function trimLines(value: string): string {
  return value.replace(/^\r?\n/, '').replace(/\r?\n[ \t]*$/, '');
}

function plainText(value: string): string {
  return value.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function wrap(call: FoundCall | undefined): FoundCall[] | undefined {
  return call && [call];
}
