/** Words that say nothing about the subject of a question. */
const STOP_WORDS = new Set(
  (
    'a an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its ' +
    'make many may me mean more most much my need no not of on or our please say shall should so some such tell than that ' +
    'the their them then there these they this those to tell us use used using was we were what when where which while who ' +
    'whom whose why will with would you your about explain describe happen happens work works'
  ).split(' '),
);

const MAX_KEYWORDS = 8;

/** The keywords of a question: its words without stop words, each once. */
export function keywordsOf(question: string): string[] {
  // Not one for all: making the first takes as long as loading a tenth of the program.
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
  const words = [...segmenter.segment(question.toLowerCase())].filter(({ isWordLike }) => isWordLike);
  const known = words.map(({ segment }) => segment).filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  return [...new Set(known)].slice(0, MAX_KEYWORDS);
}

/** A test for a keyword in any of its forms (`resume`, `resumed`, `resuming`), for lower-case text. */
export function keywordMatcher(keyword: string): (text: string) => boolean {
  if (/[^\p{Script=Latin}\p{N}_]/u.test(keyword)) return (text) => text.includes(keyword);
  const stem = keyword.length < 5 ? keyword : keyword.replace(/(?:ing|ed|es|e|s)$/, '');
  const form = new RegExp(`(?<![\\p{L}\\p{N}_])${stem}\\p{L}{0,4}(?![\\p{L}\\p{N}_])`, 'u');
  // The plain search is many times cheaper and rules out most sentences.
  return (text) => text.includes(stem) && form.test(text);
}

/** The sentences of a Markdown text as plain text, without headings, code, tables and URLs. */
export function plainSentences(markdown: string): string[] {
  const prose = markdown
    .replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, '\n')
    .replace(/!\[[^\][]{0,500}\]\([^()]{0,2000}\)/g, ' ')
    .replace(/\[([^\][]{0,500})\]\([^()]{0,2000}\)/g, '$1');
  const paragraphs = prose
    .split('\n')
    .map((line) => (/^(?:#|\||[-=]{3,}$|>?$)/.test(line.trim()) ? '' : line))
    .join('\n')
    .split(/\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)/);
  return paragraphs.flatMap(splitParagraph);
}

function splitParagraph(paragraph: string): string[] {
  const text = paragraph
    .replace(/^\s*(?:[-*+]|\d+[.)])\s+/, '')
    .replace(/\*\*|__|`/g, '')
    .replace(/\[\d+(?:,\s*\d+)*\]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return text.split(SENTENCE_END).filter(isQuotable);
}

/** `Intl.Segmenter` would be more exact, but is too slow for a page of a megabyte. */
const SENTENCE_END = /(?<=[.!?…]["')”]?)\s+(?=["'(“]?[\p{Lu}\p{N}])|(?<=[。！？])\s*/u;

/** Whether a sentence is long enough to say something, short enough to quote, complete, and without a URL. */
function isQuotable(sentence: string): boolean {
  const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(sentence);
  const [min, max] = dense ? [6, 160] : [30, 320];
  if (sentence.length < min || sentence.length > max) return false;
  return /^[^…].*[.!。！]["')）」』]?$/.test(sentence) && !/:\/\/| \| /.test(sentence);
}
