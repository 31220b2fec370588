import { naturalEnd, toSingleLine } from '../../../base/text.ts';

const MAX_LENGTH = 320;

/** The part of `text` with most of the query's words, on one line of a few hundred characters at most. */
export function bestPassage(text: string, words: readonly string[]): string {
  const withoutHeadings = text.replace(/^#{1,6}\s+.*$/gm, ' ');
  const plain = toSingleLine(withoutHeadings.replace(/!?\[([^\][]{0,500})\]\([^()]{0,2000}\)/g, '$1'));
  const line = plain === '' ? toSingleLine(text.replace(/^#+\s*/gm, '')) : plain;
  if (line.length <= MAX_LENGTH) return line;
  const lower = line.toLowerCase();
  const hits = words.flatMap((word) => positions(lower, stem(word)).map((at) => ({ at, word })));
  hits.sort((a, b) => a.at - b.at);
  let best = { start: 0, score: -1 };
  for (const { at } of hits) {
    const within = hits.filter((hit) => hit.at >= at && hit.at < at + MAX_LENGTH - 40);
    const score = new Set(within.map((hit) => hit.word)).size * 10 + Math.min(within.length, 9);
    if (score > best.score) best = { start: at, score };
  }
  const start = sentenceStart(line, Math.max(0, best.start));
  const limit = start + MAX_LENGTH;
  const end = naturalEnd(line, { from: limit - 40, limit, marks: [' '] });
  return `${start > 0 ? '… ' : ''}${line.slice(start, end).trim()}${end < line.length ? ' …' : ''}`;
}

/** A crude stem, so that `resumes` is found for `resuming`. */
function stem(word: string): string {
  return word.length > 6 ? word.slice(0, -3) : word;
}

function positions(text: string, word: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(word); at >= 0 && found.length < 20; at = text.indexOf(word, at + word.length)) {
    found.push(at);
  }
  return found;
}

/** The start of the sentence at `at`, if it is near; else the start of a word. */
function sentenceStart(text: string, at: number): number {
  const from = Math.max(0, at - 120);
  const before = text.slice(from, at);
  const ends = [...before.matchAll(/[.!?]\s+|[。！？]/g)];
  const last = ends.at(-1);
  if (last) return from + last.index + last[0].length;
  if (from === 0) return 0;
  const space = text.lastIndexOf(' ', at);
  return space > from ? space + 1 : at;
}
