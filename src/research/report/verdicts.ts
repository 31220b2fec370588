import { isObject, parseJson } from '../../base/json.ts';
import { jsonIn } from '../answer/schema/structured.ts';

/** What the model says of a doubtful sentence: whose words carry it, how it is right, or '' where it goes. */
export type SentenceVerdict = { passage: string } | { instead: string };

/**
 * The verdicts of an answer by the number of their sentence. Models write them as an array, alone or in an object, one a
 * line, or cut at the end: each that is whole counts.
 */
export function verdictsIn(answer: string): Map<number, SentenceVerdict> {
  const verdicts = new Map<number, SentenceVerdict>();
  for (const item of itemsIn(answer)) {
    const n = Number.parseInt(String(item.n), 10);
    const verdict = verdictOf(item);
    if (verdict) verdicts.set(n, verdict);
  }
  return verdicts;
}

function itemsIn(answer: string): Record<string, unknown>[] {
  const json = jsonIn(answer);
  const value = json === undefined ? undefined : parseJson(json);
  const list = isObject(value) && !('n' in value) ? Object.values(value).find(Array.isArray) : value;
  if (Array.isArray(list)) return list.filter((item) => isObject(item));
  const texts = answer.match(/\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}/g) ?? [];
  return texts.map((text) => parseJson(text)).filter((item) => isObject(item));
}

function verdictOf({ drop, text, passage }: Record<string, unknown>): SentenceVerdict | undefined {
  if (drop === true) return { instead: '' };
  if (typeof text === 'string' && text.trim() !== '') return { instead: text };
  const words = Array.isArray(passage) ? passage.filter((part) => typeof part === 'string').join(' … ') : passage;
  return typeof words === 'string' && words.trim() !== ''
    ? { passage: words.replace(/^\s*\[\d+\]\s*/, '') }
    : undefined;
}
