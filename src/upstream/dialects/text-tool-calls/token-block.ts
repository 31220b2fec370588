import { repairJson } from '../json-repair.ts';
import {
  argumentsText,
  type FoundCall,
  foundCalls,
  halves,
  jsonCalls,
  MAX_CALLS,
  type OfferedTools,
  sections,
} from './offered-tools.ts';

/** Kimi: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`. */
export function kimiCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const written = sections(block, { opening: '<|tool_call_begin|>', closing: '<|tool_call_end|>' });
  return foundCalls(
    written.map((inner) => {
      const [name, args] = halves(inner, '<|tool_call_argument_begin|>');
      const id = name.trim();
      const call = args === undefined || id.includes('<') ? undefined : offered.call(id, argumentsText(args));
      return call && { ...call, id };
    }),
  );
}

/** DeepSeek: `function<｜tool▁sep｜>name` and a JSON fence, or `name<｜tool▁sep｜>{...}`. */
export function deepseekCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const written = sections(block, { opening: '<｜tool▁call▁begin｜>', closing: '<｜tool▁call▁end｜>' });
  return foundCalls(
    written.map((inner) => {
      const [first, rest = ''] = halves(inner, '<｜tool▁sep｜>');
      const [second] = halves(rest, '<｜tool▁sep｜>');
      const [name, fenced] = halves(second, FENCE);
      if (fenced === undefined || !/^[^\n`]+$/.test(name.trim())) return offered.call(first, argumentsText(second));
      return offered.call(name, argumentsText(halves(fenced, FENCE)[0].replace(/^json/, '')));
    }),
  );
}

/**
 * Calls that begin with their name, one or several in a row: `name[ARGS]{...}` and `name{...}` of Mistral, which repeats
 * `[TOOL_CALLS]` between them, `call:name{key:<|"|>text<|"|>}` of Gemma, and `[name(key="text")]` as in Python.
 */
export function headedCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const quoted = block.split('<|"|>');
  const text = quoted.map((part, i) => (i % 2 === 1 ? JSON.stringify(part) : part)).join('');
  const calls: FoundCall[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const [head, name = ''] = HEAD.exec(rest) ?? [];
    const read = head === undefined ? undefined : repairJson(rest.slice(head.length));
    const call = read && offered.call(name, JSON.stringify(read.value));
    if (head === undefined || !call || calls.length > MAX_CALLS) return undefined;
    calls.push(call);
    rest = rest.slice(head.length + read.end).replace(/^[\s,;)\]]+/, '');
  }
  return foundCalls(calls);
}

const HEAD =
  /^(?:\[TOOL_CALLS\]\s{0,9})?(?:\[|print\(|call:)?([\w.:/-]{1,200})\s{0,9}(?:\[CALL_ID\]\s{0,9}\w{0,99}\s{0,9})?(?:\[ARGS\]\s{0,9})?(?=[{(])/;

/** Harmony (gpt-oss) that a server did not parse: ` to=functions.name ...<|message|>{...}`. */
export function harmonyCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const name = /to=([\w.:-]+)/.exec(block);
  const message = name ? halves(block.slice(name.index), '<|message|>')[1] : undefined;
  const call = name && message !== undefined && offered.call(name[1] ?? '', argumentsText(message));
  return call ? [call] : undefined;
}

/** A fenced block: only a call to an offered tool counts, since other JSON and code in a fence is part of the answer. */
export function fencedCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const [language = ''] = /^[\w-]*/.exec(block) ?? [];
  const body = block.slice(language.length).trim();
  return bareCalls(language === 'tool_code' || /^[{[]/.test(body) ? body : '', offered);
}

/** Calls in JSON or Python without any mark that says so: all of them have to call offered tools. */
export function bareCalls(text: string, offered: OfferedTools): FoundCall[] | undefined {
  return offered.only(jsonCalls(text, offered) ?? headedCalls(text, offered));
}

const FENCE = '```';
