import { isObject, type JsonObject, type JsonValue, parseJson } from '../../../base/json.ts';
import type { TurnTool } from '../../turn.ts';
import { repairJson } from '../json-repair.ts';
import { meantTool } from '../requests/tool-names.ts';

/** How many calls one turn may have; further ones stay text. */
export const MAX_CALLS = 64;

/** A call found in text, with its name resolved. */
export interface FoundCall {
  id?: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/** The tools on offer, for reading calls that the model wrote as text. */
export class OfferedTools {
  readonly #tools: ReadonlyMap<string, TurnTool>;

  constructor(tools: readonly TurnTool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  get names(): string[] {
    return [...this.#tools.keys()];
  }

  /** The offered tool that a written name means: exact, with its server's name, or with a prefix that models add. */
  resolve(name: string, server?: string): string | undefined {
    const written = name.trim();
    if (server) {
      const full = `${server.trim()}.${written}`;
      if (this.#tools.has(full)) return full;
    }
    return this.#tools.has(written) ? written : meantTool(written, this.names);
  }

  /** A call to a written name. An unknown name stays as written, so that the model gets an error about it. */
  call(name: string, args: string, server?: string): FoundCall | undefined {
    const written = name.trim();
    if (written === '' || /[\s<>{}"]/.test(written) || written.length > 200) return undefined;
    const fallback = server?.trim() ? `${server.trim()}.${written}` : written;
    return { name: this.resolve(written, server) ?? fallback, arguments: args };
  }

  /** The calls, if all of them call offered tools. */
  only(calls: FoundCall[] | undefined): FoundCall[] | undefined {
    return calls?.every((call) => this.#tools.has(call.name)) ? calls : undefined;
  }

  /** An argument written as text, converted by the tool's schema: strings stay text, everything else is read as JSON. */
  argument(tool: string, parameter: string, text: string): JsonValue {
    const type = this.#typeOf(tool, parameter);
    if (type === 'string') return text;
    const trimmed = text.trim();
    const parsed = parseJson(trimmed);
    if (parsed !== undefined && (type !== undefined || typeof parsed !== 'string')) return parsed;
    if (type === 'array' || type === 'object' || /^[[{]/.test(trimmed)) {
      const repaired = repairJson(trimmed);
      if (repaired) return repaired.value;
      if (type === 'array') return [text];
    }
    return text;
  }

  #typeOf(tool: string, parameter: string): string | undefined {
    const properties = this.#tools.get(tool)?.parameters.properties;
    const property = isObject(properties) ? properties[parameter] : undefined;
    return isObject(property) && typeof property.type === 'string' ? property.type : undefined;
  }
}

/** Arguments as JSON text: repaired where they are not JSON and that is possible, else as written. */
export function argumentsText(written: unknown): string {
  if (typeof written !== 'string') return JSON.stringify(written ?? {});
  const text = written.trim();
  if (text === '') return '{}';
  if (parseJson(text) !== undefined) return text;
  const repaired = repairJson(text);
  return repaired && isObject(repaired.value) ? JSON.stringify(repaired.value) : text;
}

/**
 * The calls in a JSON value: `{name, arguments}` in the form of Hermes, OpenAI, Llama (`parameters`), Anthropic (`input`)
 * and others, or a list of them. Undefined for anything else.
 */
export function callsInJson(value: JsonValue, offered: OfferedTools): FoundCall[] | undefined {
  if (Array.isArray(value)) {
    const lists = value.map((element) => callsInJson(element, offered));
    return lists.length > 0 && lists.every((list) => list !== undefined) ? lists.flat() : undefined;
  }
  if (!isObject(value)) return undefined;
  if (Array.isArray(value.tool_calls)) return callsInJson(value.tool_calls, offered);
  const source: JsonObject = isObject(value.function) ? value.function : value;
  const name = source.name ?? source.tool_name ?? source.tool ?? source.function ?? source.function_name;
  if (typeof name !== 'string') return undefined;
  const args = source.arguments ?? source.parameters ?? source.args ?? source.input ?? source.params ?? {};
  if (typeof args !== 'string' && !isObject(args)) return undefined;
  const server = typeof source.server_name === 'string' ? source.server_name : undefined;
  const call = offered.call(name, argumentsText(args), server);
  if (!call) return undefined;
  const id = typeof value.id === 'string' && value.id !== '' ? value.id : undefined;
  return [id === undefined ? call : { ...call, id }];
}

/** Calls written as JSON (`{"name": ..., "arguments": {...}}`): one, several in a row, or a list. */
export function jsonCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  let rest = block.trim();
  while (rest !== '') {
    if (!/^[{[]/.test(rest) || calls.length > MAX_CALLS) return undefined;
    const read = repairJson(rest);
    const found = read && callsInJson(read.value, offered);
    if (!read || !found) return undefined;
    calls.push(...found);
    rest = rest.slice(read.end).replace(/^[\s,;}\]]+/, '');
  }
  return foundCalls(calls);
}

/** The calls that could be read, or undefined if there are none. */
export function foundCalls(calls: Iterable<FoundCall | undefined>): FoundCall[] | undefined {
  const found = [...calls].filter((call) => call !== undefined);
  return found.length > 0 ? found : undefined;
}

/** The text before and after the first occurrence of a mark; the second half is undefined if there is no mark. */
export function halves(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** The text after each opening mark, up to the closing mark or the next opening one. */
export function sections(text: string, { opening, closing }: { opening: string; closing: string }): string[] {
  return text
    .split(opening)
    .slice(1)
    .map((section) => halves(section, closing)[0]);
}
