import type { Compounds } from './compounds.ts';
import { detectLanguage, FALLBACK, type IndexLanguage, type Stems, stopWords } from './languages.ts';

/** Runs of scripts that are written without spaces, which are indexed as overlapping pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

/** Words: letters and digits, with punctuation inside names such as `max_tool_calls`, `node.js` or `don't`. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:[._'’/+-][\p{L}\p{N}\p{M}]+)*/gu;

/** Words as the index splits them. */
const LETTERS = /[\p{L}\p{N}\p{M}]+/gu;

const MAX_TERMS = 64;
/** How much of a query is used, in UTF-16 code units. */
const MAX_QUERY = 2000;

/** Text as it is stored in the index: unspaced scripts as pairs, words as their stems. */
export function indexText(text: string, options: { language: IndexLanguage; stems: Stems }): string {
  return inPairs(text).replace(lettersOf(text), (word) => options.stems.of(word.toLowerCase(), options.language));
}

/** The words of a text as stored in the index, without stop words. */
export function indexWords(text: string, options: { language: IndexLanguage; stems: Stems }): string[] {
  const ignored = stopWords(options.language);
  const found: string[] = [];
  for (const word of inPairs(text).toLowerCase().match(lettersOf(text)) ?? []) {
    if (word.length > 1 && !ignored.has(word)) found.push(options.stems.of(word, options.language));
  }
  return found;
}

/** The words of a text, in lower case and in order. */
export function wordsOf(text: string): string[] {
  return text.normalize('NFKC').replace(UNSPACED, ' ').toLowerCase().match(LETTERS) ?? [];
}

/** Finds text that needs the Unicode classes; the ASCII pattern is several times faster. */
const NOT_ASCII = /[^ -~\s]/;
const ASCII_LETTERS = /[a-z\d]+/gi;

function lettersOf(text: string): RegExp {
  return NOT_ASCII.test(text) ? LETTERS : ASCII_LETTERS;
}

function inPairs(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${pairs(run).join(' ')} `);
}

/** `深度研究` becomes `深度 度研 研究 究`: the last character is alone, so that a prefix search finds each of them. */
function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ''));
}

/** The parts of a query. */
export interface QueryTerms {
  /** FTS5 expressions of which any may match, made of quoted strings only; none if the query has no words. */
  expressions: string[];
  /** Its single terms, each an expression: words in the stems of every language, and pairs of characters. */
  terms: string[];
  /** The words and unspaced runs themselves, in lower case, for choosing a snippet. */
  words: string[];
}

/** How a query is parsed. */
export interface QueryLanguages {
  languages: readonly IndexLanguage[];
  stems: Stems;
  compounds: Compounds;
}

/**
 * Parses a query and quotes each term: raw text makes FTS5 throw on `"`, `AND`, `NEAR(`, `:` or `*`. Terms are joined by
 * OR, and the ranking prefers documents with more and rarer ones. Operators such as `site:` are dropped.
 */
export function queryTerms(query: string, about: QueryLanguages): QueryTerms {
  const text = query
    .slice(0, MAX_QUERY)
    .normalize('NFKC')
    .replace(/(?:^|\s)-?(?:site|filetype|inurl|intitle):\S+/gi, ' ');
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
  const isStopWord = stopWordTest(text);
  const wanted = spaced.filter((word) => !isStopWord(word));
  for (const word of wanted.length > 0 || words.size > 0 ? wanted : spaced) {
    words.add(word);
    const parts = wordsOf(word);
    const variants = variantsOf(parts, about);
    for (const variant of variants) expressions.add(variant);
    if (variants.length > 0) terms.add(variants.length === 1 ? variants.join() : `(${variants.join(' OR ')})`);
    if (parts.length > 1) {
      for (const part of parts.filter((word) => word.length > 1 && !isStopWord(word)))
        for (const variant of variantsOf([part], about)) expressions.add(variant);
    }
    for (const language of about.languages)
      for (const part of about.compounds.split(word, language)) expressions.add(quote(part));
  }
  // Adjacent words are also searched as a phrase: a name of two words counts more than one of them in a title.
  for (const [index, word] of spaced.entries()) {
    const next = spaced[index + 1];
    if (next === undefined || isStopWord(word) || isStopWord(next)) continue;
    for (const variant of variantsOf([...wordsOf(word), ...wordsOf(next)], about)) expressions.add(variant);
  }
  return {
    expressions: [...expressions].slice(0, MAX_TERMS),
    terms: [...terms].slice(0, MAX_TERMS),
    words: [...words].slice(0, MAX_TERMS),
  };
}

/** A test for stop words, in English and in the detected language of the query. */
function stopWordTest(query: string): (word: string) => boolean {
  const language = detectLanguage(query) ?? FALLBACK;
  return (word) => stopWords(FALLBACK).has(word) || stopWords(language).has(word);
}

/** A word or phrase in the stems of each language of the documents. */
function variantsOf(words: readonly string[], { languages, stems }: QueryLanguages): string[] {
  if (words.length === 0) return [];
  const phrases = languages.map((language) => words.map((word) => stems.of(word, language)).join(' '));
  return [...new Set(phrases)].map(quote);
}

/** The phrases of a term, each as a list of its words. */
export function phrasesOf(term: string): string[][] {
  return [...term.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase.split(' '));
}

/** A term quoted for FTS5. */
export function quote(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
