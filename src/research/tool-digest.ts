import { isObject, parseJson } from '../base/json.ts';
import { keyFacts, keywords } from './key-facts.ts';
import type { ExecutableCall, ResultEntry } from './transcript.ts';

/**
 * A tool result reduced to title, source id and key facts (architecture: "Research loop", Context), in about
 * `maxLength` UTF-16 code units. What is kept is what the question and the call were about.
 */
export function digest(
  call: ExecutableCall,
  result: ResultEntry,
  options: { about: ReadonlySet<string>; maxLength: number },
): string {
  const about = options.about.union(keywords(call.arguments));
  const value = parseJson(result.result);
  if (!isObject(value)) return keyFacts(result.result, { about, maxLength: options.maxLength });
  if (isObject(value.error)) return `failed: ${textOf(value.error.message).slice(0, 160)}`;
  if (Array.isArray(value.results)) return digestHits(value.results, { about, maxLength: options.maxLength });
  if (typeof value.content === 'string') {
    const head = `[${numberOf(value.source_id)}] ${textOf(value.title) || textOf(value.url)}: `;
    return head + keyFacts(value.content, { about, maxLength: Math.max(40, options.maxLength - head.length) });
  }
  return keyFacts(result.result, { about, maxLength: options.maxLength });
}

function digestHits(hits: readonly unknown[], options: { about: ReadonlySet<string>; maxLength: number }): string {
  if (hits.length === 0) return 'nothing was found';
  const each = Math.max(40, Math.floor(options.maxLength / hits.length));
  const lines: string[] = [];
  let left = options.maxLength;
  for (const hit of hits) {
    if (!isObject(hit)) continue;
    const head = `[${numberOf(hit.source_id)}] ${textOf(hit.title).slice(0, 80)}`;
    const facts = keyFacts(textOf(hit.snippet), { about: options.about, maxLength: Math.max(0, each - head.length) });
    const line = facts.length > 20 ? `${head}: ${facts}` : head;
    if (line.length > left && lines.length > 0) break;
    lines.push(line);
    left -= line.length + 1;
  }
  return lines.join('\n');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : '-';
}
