/** Words that say nothing about the subject of a question, in a few languages. */
const STOP_WORDS = new Set(
  [
    'a an and any are as at be been but by can could did do does for from get give had has have how i if in into is it its',
    'make many may me mean more most much my need no not of on or our please say shall should so some such tell than that',
    'the their them then there these they this those to tell us use used using was we were what when where which while who',
    'whom whose why will with would you your about explain describe happen happens work works',
    'der die das den dem ein eine und oder ist sind wie was wer wo warum welche mit von zu im in auf für nicht',
    'le la les un une des du de et ou est sont que qui quoi comment pourquoi quel quelle dans pour avec sur',
    'el los las una uno del y o es son qué cómo por para con en cuál',
    '的 了 是 在 和 与 吗 呢 什么 怎么 如何 为什么 哪些 哪个 我 你 它 请 有 会 之 于 就 都 を は が の に で と も か から まで です ます する 何 どう',
  ].flatMap((line) => line.split(' ')),
);

const WORDS = new Intl.Segmenter(undefined, { granularity: 'word' });
const KANA_PARTICLE = /^\p{Script=Hiragana}{1,2}$/u;

function wordsIn(text: string): Intl.SegmentData[] {
  return [...WORDS.segment(text.toLowerCase())].filter(({ isWordLike }) => isWordLike);
}

/** The words of a text in lower case, in order. */
export function segmentsOf(text: string): string[] {
  return wordsIn(text).map(({ segment }) => segment);
}

/** The keywords of a question: its words without stop words, each once, at most `limit`. */
export function keywordsOf(question: string, limit = 8): string[] {
  const words = joinHan(question).filter((word) => !STOP_WORDS.has(word) && !KANA_PARTICLE.test(word));
  return [...new Set(words)].filter((word) => word.length > 1 || /\p{Script=Han}/u.test(word)).slice(0, limit);
}

/** The words of a text. Adjacent single Han characters are joined: they are a word that the segmenter does not know. */
function joinHan(text: string): string[] {
  const words: string[] = [];
  let end = -1;
  for (const { segment, index } of wordsIn(text)) {
    const alone = /^\p{Script=Han}$/u.test(segment) && !STOP_WORDS.has(segment);
    if (alone && end === index) words.push(words.pop() + segment);
    else words.push(segment);
    end = alone ? index + segment.length : -1;
  }
  return words;
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

/**
 * Splits a text into the pieces that are streamed and counted as tokens: words with the space before them, or a few
 * characters in scripts without spaces. Joined, the pieces are the text.
 */
export function streamPieces(text: string): string[] {
  const pieces = text.match(PIECE) ?? [];
  return pieces.filter((piece) => piece !== '');
}

const PIECE =
  /\s*(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{1,3}|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{1,24}|$)/gu;
