import { isObject, parseJson } from '../../base/json.ts';
import { jsonIn } from '../answer/schema/structured.ts';

/** The model's verdict on a doubtful sentence: a passage that supports it, or a correction; `instead: ''` removes it. */
export type SentenceVerdict = { passage: string } | { instead: string };

/**
 * The verdicts of an answer, by the number of their sentence. Models write them as an array, in an object or not, as one
 * object per line, or cut off at the end; every complete verdict counts.
 */
export function verdictsIn(answer: string): Map<number, SentenceVerdict> {
  const verdicts = new Map<number, SentenceVerdict>();
  for (const item of itemsIn(answer.slice(0, LONGEST_ANSWER))) {
    const n = typeof item.n === 'string' ? Number.parseInt(item.n, 10) : item.n;
    const verdict = verdictOf(item);
    if (typeof n === 'number' && verdict) verdicts.set(n, verdict);
  }
  return verdicts;
}

/** How much of an answer is read, in UTF-16 code units, and how many verdicts: more than are ever requested. */
const LONGEST_ANSWER = 100_000;
const MAX_VERDICTS = 1000;
/** A flat object. The end is optional so that no text is scanned twice; matches without it are no JSON and are skipped. */
const OBJECT = /\{(?:[^{}"]|"(?:[^"\\\n]|\\.)*"?)+\}?/g;

function itemsIn(answer: string): Record<string, unknown>[] {
  const value = jsonIn(answer)?.value;
  const list = isObject(value) && !('n' in value) ? Object.values(value).find(Array.isArray) : value;
  if (Array.isArray(list)) return list.slice(0, MAX_VERDICTS).filter((item) => isObject(item));
  const whole = answer.matchAll(OBJECT).filter(([text]) => text.endsWith('}'));
  return [...whole.take(MAX_VERDICTS).map(([text]) => parseJson(text))].filter((item) => isObject(item));
}

function verdictOf({ drop, text, passage }: Record<string, unknown>): SentenceVerdict | undefined {
  if (drop === true) return { instead: '' };
  if (typeof text === 'string' && text.trim() !== '') return { instead: text };
  const words = Array.isArray(passage) ? passage.filter((part) => typeof part === 'string').join(' … ') : passage;
  return typeof words === 'string' && words.trim() !== ''
    ? { passage: words.replace(/^\s*\[\d+\]\s*/, '') }
    : undefined;
}
