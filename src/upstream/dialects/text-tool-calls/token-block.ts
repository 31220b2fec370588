import { repairJson } from '../json-repair.ts';
import { jsonCalls } from './json-block.ts';
import { argumentsText, callsInJson, type FoundCall, type OfferedTools } from './offered-tools.ts';

/** Kimi: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`. */
export function kimiCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const pattern =
    /<\|tool_call_begin\|>\s*([^<]+?)\s*<\|tool_call_argument_begin\|>([\s\S]*?)(?:<\|tool_call_end\|>|$)/g;
  return collect(block, pattern, offered, (name) => name);
}

/** DeepSeek: `function<｜tool▁sep｜>name` and a JSON fence, or `name<｜tool▁sep｜>{...}`. */
export function deepseekCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const pattern = /<｜tool▁call▁begin｜>([\s\S]*?)(?:<｜tool▁call▁end｜>|$)/g;
  const calls: FoundCall[] = [];
  for (const [, inner = ''] of block.matchAll(pattern)) {
    const [first = '', second = ''] = inner.split('<｜tool▁sep｜>');
    const fence = /^\s*([^\n`]+)\s*```(?:json)?\s*([\s\S]*?)(?:```|$)/.exec(second);
    const call = fence
      ? offered.call(fence[1] ?? '', argumentsText(fence[2]))
      : offered.call(first, argumentsText(second));
    if (call) calls.push(call);
  }
  return calls.length > 0 ? calls : undefined;
}

/** Mistral: `[TOOL_CALLS]` before a JSON list, or before `name[ARGS]{...}` and `name{...}`. */
export function mistralCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const list = jsonCalls(block, offered);
  if (list) return list;
  const calls: FoundCall[] = [];
  for (let rest = block.trim(); rest !== ''; ) {
    const head = /^(?:\[TOOL_CALLS\])?\s*([\w.:/-]+)\s*(?:\[CALL_ID\]\s*\w+)?\s*(?:\[ARGS\])?\s*(?=\{)/.exec(rest);
    const read = head && repairJson(rest.slice(head[0].length));
    const call = read && offered.call(head[1] ?? '', JSON.stringify(read.value));
    if (!call) return undefined;
    calls.push(call);
    rest = rest.slice(head[0].length + read.end).trim();
  }
  return calls.length > 0 ? calls : undefined;
}

/** Harmony (gpt-oss) that a server did not parse: ` to=functions.name ...<|message|>{...}`. */
export function harmonyCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const match = /to=([\w.:-]+)[\s\S]*?<\|message\|>([\s\S]*)$/.exec(block);
  const call = match && offered.call(match[1] ?? '', argumentsText(match[2]));
  return call ? [call] : undefined;
}

/**
 * A fenced block: only a call to an offered tool counts, since other JSON in a fence is part of the answer.
 */
export function fencedCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const body = block.replace(/^[\w-]*[ \t]*\r?\n?/, '').trim();
  if (!/^[{[]/.test(body)) return undefined;
  const read = repairJson(body);
  const calls = read && body.slice(read.end).trim() === '' ? callsInJson(read.value, offered) : undefined;
  return calls?.every((call) => offered.names.includes(call.name)) ? calls : undefined;
}

function collect(
  block: string,
  pattern: RegExp,
  offered: OfferedTools,
  nameOf: (written: string) => string,
): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  for (const [, written = '', args = ''] of block.matchAll(pattern)) {
    const call = offered.call(nameOf(written), argumentsText(args));
    if (call) calls.push({ ...call, id: written });
  }
  return calls.length > 0 ? calls : undefined;
}
