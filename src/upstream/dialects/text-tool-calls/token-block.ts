import { repairJson } from '../json-repair.ts';
import {
  argumentsText,
  callsInJson,
  type FoundCall,
  foundCalls,
  halves,
  jsonCalls,
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

/** Mistral: `[TOOL_CALLS]` before a JSON list, or before `name[ARGS]{...}` and `name{...}`. */
export function mistralCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const list = jsonCalls(block, offered);
  if (list) return list;
  const calls: FoundCall[] = [];
  for (let rest = block.trim(); rest !== ''; ) {
    const head = mistralHead(rest);
    const read = head && repairJson(head.rest);
    const call = read && offered.call(head.name, JSON.stringify(read.value));
    if (!call) return undefined;
    calls.push(call);
    rest = head.rest.slice(read.end).trim();
  }
  return calls.length > 0 ? calls : undefined;
}

/** The name in `[TOOL_CALLS]name[CALL_ID]id[ARGS]`, of which only the name is required, and the text after it. */
function mistralHead(text: string): { name: string; rest: string } | undefined {
  let rest = withoutStart(text, '[TOOL_CALLS]').trimStart();
  const name = /^[\w.:/-]+/.exec(rest)?.[0];
  if (name === undefined) return undefined;
  rest = rest.slice(name.length).trimStart();
  if (rest.startsWith('[CALL_ID]')) rest = withoutStart(rest, '[CALL_ID]').trimStart().replace(/^\w+/, '').trimStart();
  rest = withoutStart(rest, '[ARGS]').trimStart();
  return rest.startsWith('{') ? { name, rest } : undefined;
}

/** Harmony (gpt-oss) that a server did not parse: ` to=functions.name ...<|message|>{...}`. */
export function harmonyCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const name = /to=([\w.:-]+)/.exec(block);
  const message = name ? halves(block.slice(name.index), '<|message|>')[1] : undefined;
  const call = name && message !== undefined && offered.call(name[1] ?? '', argumentsText(message));
  return call ? [call] : undefined;
}

/** A fenced block: only a call to an offered tool counts, since other JSON in a fence is part of the answer. */
export function fencedCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const body = block.replace(/^[\w-]*[ \t]*\r?\n?/, '').trim();
  if (!/^[{[]/.test(body)) return undefined;
  const read = repairJson(body);
  const calls = read && body.slice(read.end).trim() === '' ? callsInJson(read.value, offered) : undefined;
  return calls?.every((call) => offered.names.includes(call.name)) ? calls : undefined;
}

const FENCE = '```';

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}
