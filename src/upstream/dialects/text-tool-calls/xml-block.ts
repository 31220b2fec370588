import type { JsonObject } from '../../../base/json.ts';
import { argumentsText, type FoundCall, foundCalls, halves, type OfferedTools } from './offered-tools.ts';

/**
 * Calls written as XML, in the forms that models were trained on:
 * - `<server_name>s</server_name><tool_name>t</tool_name><arguments>{...}</arguments>` (use_mcp_tool)
 * - `<function=name><parameter=key>value</parameter></function>` (Qwen coder), or JSON inside the function tag (Llama)
 * - `<invoke name="tool"><parameter name="key">value</parameter></invoke>` (Anthropic, MiniMax, DeepSeek), or with tags
 *   named after the parameters (MiniMax-M3)
 * - `tool<arg_key>key</arg_key><arg_value>value</arg_value>` (GLM)
 */
export function xmlCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  return (
    foundCalls([serverTool(block, offered)]) ??
    taggedCalls(block, FUNCTION, offered) ??
    taggedCalls(block, INVOKE, offered) ??
    foundCalls([argPairs(block, offered)])
  );
}

/** A call whose tag is the tool's own name, with its parameters as tags: `<web_search><query>x</query></web_search>`. */
export function namedTagCall(name: string, inner: string, offered: OfferedTools): FoundCall[] | undefined {
  if (/^\s*\{/.test(inner)) return foundCalls([offered.call(name, argumentsText(inner))]);
  const args = argumentsOf(name, childTags(inner), offered);
  return args === '{}' && inner.trim() !== '' ? undefined : foundCalls([offered.call(name, args)]);
}

/** A block with more tags than this is no call. */
const MAX_TAGS = 200;

/** The tags of a text, each with its content. The closing tag is searched for once per opening tag. */
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

function serverTool(block: string, offered: OfferedTools): FoundCall | undefined {
  const name = inTag(block, 'tool_name');
  if (name === undefined) return undefined;
  const args = inTag(block, 'arguments', { mayBeOpen: true }) ?? '{}';
  return offered.call(name, argumentsText(args), inTag(block, 'server_name'));
}

interface CallTags {
  call: RegExp;
  parameter: RegExp;
}

const FUNCTION: CallTags = {
  call: /<function=([^<>\s]+)\s*>([\s\S]*?)(?:<\/function>|$)/g,
  parameter: /<parameter=([^<>\s]+)\s*>([\s\S]*?)(?:<\/parameter>|(?=<parameter=)|$)/g,
};
const INVOKE: CallTags = {
  call: /<[^<>\s]*invoke\s+name=["']?([^"'<>\s]+)["']?\s*>([\s\S]*?)(?:<\/[^<>\s]*invoke>|$)/g,
  parameter: /<[^<>\s]*parameter\s+name=["']?([^"'<>\s]+)(?:["'\s][^<>]*)?>([\s\S]*?)(?:<\/[^<>\s]*parameter>|$)/g,
};

function taggedCalls(block: string, tags: CallTags, offered: OfferedTools): FoundCall[] | undefined {
  return foundCalls(
    block.matchAll(tags.call).map(([, written = '', inner = '']) => {
      const name = offered.resolve(written) ?? written;
      if (/^\s*\{/.test(inner)) return offered.call(name, argumentsText(inner));
      const pairs = [...inner.matchAll(tags.parameter)].map(([, key = '', value = '']): [string, string] => [
        key,
        value,
      ]);
      return offered.call(name, argumentsOf(name, pairs.length > 0 ? pairs : childTags(inner), offered));
    }),
  );
}

function argPairs(block: string, offered: OfferedTools): FoundCall | undefined {
  const written = /^\s*([\w.:/-]+)\s*(?=<arg_key>|$)/.exec(block)?.[1];
  if (written === undefined) return undefined;
  const name = offered.resolve(written);
  if (name === undefined && !block.includes('<arg_key>')) return undefined;
  const pairs = block
    .split('<arg_key>')
    .slice(1)
    .flatMap((pair): [string, string][] => {
      const [key, rest = ''] = halves(pair, '</arg_key>');
      const [blank, value] = halves(rest, '<arg_value>');
      return value === undefined || blank.trim() !== '' ? [] : [[key, halves(value, '</arg_value>')[0]]];
    });
  return offered.call(name ?? written, argumentsOf(name ?? written, pairs, offered));
}

function argumentsOf(tool: string, pairs: Iterable<[key: string, value: string]>, offered: OfferedTools): string {
  const args: JsonObject = {};
  for (const [key, value] of pairs) {
    args[key.trim()] = offered.argument(tool, key.trim(), plainText(value));
  }
  return JSON.stringify(args);
}

/** The content of the first tag with this name; undefined if the tag is not closed, unless `mayBeOpen`. */
function inTag(text: string, name: string, { mayBeOpen = false } = {}): string | undefined {
  const [, rest] = halves(text, `<${name}>`);
  if (rest === undefined) return undefined;
  const [inner, end] = halves(rest, `</${name}>`);
  return end === undefined && !mayBeOpen ? undefined : inner.trim();
}

/** A value without its markup: one line break on each side, and entities. */
function plainText(value: string): string {
  const inner = value.replace(/^\r?\n/, '').replace(/\r?\n[ \t]*$/, '');
  return inner.replace(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
