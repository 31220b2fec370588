/** Scripts written without spaces between words. They are indexed as overlapping pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

/** Words: letters and digits, with the joints inside names such as `max_tool_calls`, `node.js` or `don't`. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:[._'’/+-][\p{L}\p{N}\p{M}]+)*/gu;

const STOP_WORDS = new Set(
  'a about after all also an and any are as at be been between both but by can could did do does doing each for from had has have having how i if in into is it its just may me more most my no nor not of on one or other our out over should so some such than that the their them then there these they this those to under up us was we were what when where which while who whom whose why will with would you your tell explain describe please'.split(
    ' ',
  ),
);

const MAX_TERMS = 48;

/** Text in the form in which it goes into the index: unspaced scripts as pairs, everything else as it is. */
export function indexText(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${pairs(run).join(' ')} `);
}

/** `深度研究` as `深度 度研 研究 究`: the last character alone, so that a prefix finds every single character. */
function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ''));
}

/** What a query asks for, taken apart. */
export interface QueryTerms {
  /** An FTS5 `MATCH` expression made of quoted strings only; empty if the query has no words. */
  match: string;
  /** Its single terms, each a quoted string: words, and pairs of characters. */
  terms: string[];
  /** The words and runs themselves, lower case, for finding a good passage. */
  words: string[];
}

/**
 * Takes a query apart and quotes each term: raw text makes FTS5 throw on `"`, `AND`, `NEAR(`, `:` or `*`. Terms are
 * joined by OR, and the ranking prefers documents with more and rarer ones. Operators such as `site:` are dropped.
 */
export function queryTerms(query: string): QueryTerms {
  const text = query.normalize('NFKC').replace(/(?:^|\s)-?(?:site|filetype|inurl|intitle):\S+/gi, ' ');
  const expressions = new Set<string>();
  const terms = new Set<string>();
  const words = new Set<string>();
  for (const [run] of text.matchAll(UNSPACED)) {
    words.add(run);
    const characters = pairs(run);
    if (characters.length === 1) expressions.add(`${quote(run)}*`);
    for (const pair of characters.slice(0, -1)) {
      expressions.add(quote(pair));
      terms.add(quote(pair));
    }
  }
  const spaced = [...text.replace(UNSPACED, ' ').matchAll(WORD)].map(([word]) => word.toLowerCase());
  const wanted = spaced.filter((word) => !STOP_WORDS.has(word));
  for (const word of wanted.length > 0 || words.size > 0 ? wanted : spaced) {
    words.add(word);
    expressions.add(quote(word));
    terms.add(quote(word));
    const parts = word.split(/[._'’/+-]/).filter((part) => part.length > 1 && !STOP_WORDS.has(part));
    if (parts.length > 1) for (const part of parts) expressions.add(quote(part));
  }
  // Names of two words: where they stand side by side counts more than one of them in a title.
  for (const [index, word] of spaced.entries()) {
    const next = spaced[index + 1];
    if (next !== undefined && !STOP_WORDS.has(word) && !STOP_WORDS.has(next)) expressions.add(quote(`${word} ${next}`));
  }
  return {
    match: [...expressions].slice(0, MAX_TERMS).join(' OR '),
    terms: [...terms].slice(0, MAX_TERMS),
    words: [...words].slice(0, MAX_TERMS),
  };
}

function quote(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
