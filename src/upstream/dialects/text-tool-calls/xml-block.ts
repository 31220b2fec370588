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
  for (const [, key, value] of inner.matchAll(/<([A-Za-z_][\w.-]*)>([\s\S]*?)<\/\1>/g)) {
    if (key !== undefined) args[key] = offered.argument(name, key, plainText(trimLines(value ?? '')));
  }
  if (Object.keys(args).length === 0 && inner.trim() !== '') return undefined;
  return wrap(offered.call(name, JSON.stringify(args)));
}

function serverTool(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const name = tag(block, 'tool_name');
  if (name === undefined) return undefined;
  const args = tag(block, 'arguments') ?? /<arguments>([\s\S]*)$/.exec(block)?.[1] ?? '{}';
  return wrap(offered.call(name, argumentsText(args), tag(block, 'server_name')));
}

function functionTags(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  for (const [, written = '', inner = ''] of block.matchAll(/<function=([^>\s]+)\s*>([\s\S]*?)(?:<\/function>|$)/g)) {
    const name = offered.resolve(written) ?? written;
    const args = /^\s*\{/.test(inner)
      ? argumentsText(inner)
      : parameters(name, inner, /<parameter=([^>\s]+)\s*>([\s\S]*?)(?:<\/parameter>|(?=<parameter=)|$)/g, offered);
    const call = offered.call(name, args);
    if (call) calls.push(call);
  }
  return calls.length > 0 ? calls : undefined;
}

function invokeTags(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  const invoke = /<[^<>\s]*invoke\s+name=["']?([^"'>\s]+)["']?\s*>([\s\S]*?)(?:<\/[^<>\s]*invoke>|$)/g;
  for (const [, written = '', inner = ''] of block.matchAll(invoke)) {
    const name = offered.resolve(written) ?? written;
    const parameter = /<[^<>\s]*parameter\s+name=["']?([^"'>\s]+)["']?[^>]*>([\s\S]*?)(?:<\/[^<>\s]*parameter>|$)/g;
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
  const pair = /<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)(?:<\/arg_value>|$)/g;
  return wrap(offered.call(name ?? written, parameters(name ?? written, block, pair, offered)));
}

function parameters(tool: string, text: string, pattern: RegExp, offered: OfferedTools): string {
  const args: JsonObject = {};
  for (const [, key = '', value = ''] of text.matchAll(pattern)) {
    args[key.trim()] = offered.argument(tool, key.trim(), plainText(trimLines(value)));
  }
  return JSON.stringify(args);
}

function tag(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(text)?.[1]?.trim();
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
