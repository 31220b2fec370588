import { readFile } from 'node:fs/promises';

/** A sentence, the passage that it is held against, and whether the passage carries it. */
export interface ClaimPair {
  language: string;
  subject: string;
  passage: string;
  sentence: string;
  /** `supported`; what was changed of an invented one; `elsewhere` where the passage speaks of something else. */
  kind: string;
}

/** The files of this folder: what rules are made with, and others whose pairs are not looked at one by one. */
export const CLAIM_FILES = [
  'made-with',
  'held-out',
  'public-facts',
  'report-style',
  'research-reports',
  'noisy-pages',
  'unseen-pages',
  'fresh-pages',
  'fresh-held-out',
] as const;
export type ClaimFile = (typeof CLAIM_FILES)[number];

/** The pairs of a file of this folder; the head of held-out.txt says how they are written. */
export async function readPairs(name: ClaimFile): Promise<ClaimPair[]> {
  const text = await readFile(new URL(`${name}.txt`, import.meta.url), 'utf8');
  const pairs: ClaimPair[] = [];
  let about = { language: '', subject: '', passage: '' };
  for (const line of text.split('\n')) {
    const rest = line.slice(1).trim();
    if (line.startsWith('@')) about = { language: rest.slice(0, 2), subject: rest.slice(3), passage: '' };
    else if (line.startsWith('>')) about = { ...about, passage: `${about.passage}\n${rest}`.trimStart() };
    else if (line.startsWith('+')) pairs.push({ ...about, sentence: rest, kind: 'supported' });
    else if (line.startsWith('0')) pairs.push({ ...about, sentence: rest, kind: 'elsewhere' });
    else if (line.startsWith('~')) {
      const space = rest.indexOf(' ');
      pairs.push({ ...about, sentence: rest.slice(space + 1), kind: rest.slice(0, space) });
    }
  }
  return pairs;
}
