import { repairJson } from '../json-repair.ts';
import { callsInJson, type FoundCall, type OfferedTools } from './offered-tools.ts';

/** Calls written as JSON (`{"name": ..., "arguments": {...}}`), one or several after each other, or a list. */
export function jsonCalls(block: string, offered: OfferedTools): FoundCall[] | undefined {
  const calls: FoundCall[] = [];
  let rest = block.trim();
  while (rest !== '') {
    if (!/^[{[]/.test(rest)) return undefined;
    const read = repairJson(rest);
    const found = read && callsInJson(read.value, offered);
    if (!read || !found) return undefined;
    calls.push(...found);
    rest = rest.slice(read.end).replace(/^[\s,;}\]]+/, '');
  }
  return calls.length > 0 ? calls : undefined;
}
