import { objectsIn } from './objects-in.ts';

/** The model's verdict on a doubtful sentence: a passage that supports it, or a correction; `instead: ''` removes it. */
export type SentenceVerdict = { passage: string } | { instead: string };

/** The verdicts of an answer, by the number of their sentence. */
export function verdictsIn(answer: string): Map<number, SentenceVerdict> {
  const verdicts = new Map<number, SentenceVerdict>();
  for (const item of objectsIn(answer, 'n')) {
    const n = typeof item.n === 'string' ? Number(/\d+/.exec(item.n)) : item.n;
    const verdict = verdictOf(item);
    if (typeof n === 'number' && verdict) verdicts.set(n, verdict);
  }
  return verdicts;
}

function verdictOf({ drop, text, passage }: Record<string, unknown>): SentenceVerdict | undefined {
  if (drop === true) return { instead: '' };
  if (typeof text === 'string' && text.trim() !== '') return { instead: text };
  const words = Array.isArray(passage) ? passage.filter((part) => typeof part === 'string').join(' … ') : passage;
  return typeof words === 'string' && words.trim() !== ''
    ? { passage: words.replace(/^\s*\[\d+\]\s*/, '') }
    : undefined;
}
