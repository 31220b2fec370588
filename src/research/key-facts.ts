/** Reducing text to the sentences that matter for a question, without a model. */

/** The words of a text that carry its meaning, in lower case. CJK text gives pairs of characters. */
export function keywords(text: string): Set<string> {
  const words = new Set<string>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    if (CJK.test(word)) for (let i = 0; i + 1 < word.length; i++) words.add(word.slice(i, i + 2));
    else if (word.length > 2 && !STOP_WORDS.has(word)) words.add(word);
  }
  return words;
}

/**
 * The sentences of `text` that tell most about `about`, in their order, `maxLength` UTF-16 code units at most.
 * Sentences with numbers and names count more: they are the facts that cannot be guessed again.
 */
export function keyFacts(text: string, options: { about: ReadonlySet<string>; maxLength: number }): string {
  const { about, maxLength } = options;
  const plain = text.replace(/\s+/g, ' ').trim();
  if (plain.length <= maxLength) return plain;
  const sentences = splitSentences(plain);
  const ranked = sentences
    .map((sentence, index) => ({ index, sentence, score: score(sentence, about) / (1 + index / 200) }))
    .sort((a, b) => b.score - a.score);
  const chosen: number[] = [];
  let left = maxLength;
  for (const { index, sentence, score: value } of ranked) {
    if (value <= 0 && chosen.length > 0) break;
    if (sentence.length + 1 > left) continue;
    chosen.push(index);
    left -= sentence.length + 1;
    if (left < 20) break;
  }
  if (chosen.length === 0) return `${plain.slice(0, Math.max(0, maxLength - 1))}…`;
  return chosen
    .sort((a, b) => a - b)
    .map((index) => sentences[index])
    .join(' ');
}

/** Longer ones are cut at a comma or a space: a table or a list without full stops is no single sentence. */
const MAX_SENTENCE = 320;

function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  for (const sentence of text.split(/(?<=[.!?。！？])\s*(?=[\p{Lu}\p{Lo}\p{N}"'“([#*-])|\s(?=[#*-]\s)|\s\|\s/u)) {
    let rest = sentence.trim();
    while (rest.length > MAX_SENTENCE) {
      const space = rest.lastIndexOf(' ', MAX_SENTENCE);
      const end = space > MAX_SENTENCE / 2 ? space : MAX_SENTENCE;
      sentences.push(rest.slice(0, end));
      rest = rest.slice(end).trim();
    }
    if (rest !== '') sentences.push(rest);
  }
  return sentences;
}

function score(sentence: string, about: ReadonlySet<string>): number {
  let hits = 0;
  for (const word of keywords(sentence)) if (about.has(word)) hits++;
  const numbers = sentence.match(/\p{N}[\p{N}.,:%-]*/gu)?.length ?? 0;
  const names = sentence.match(/(?<!^)(?<![.!?] )\b\p{Lu}[\p{L}\p{N}-]+/gu)?.length ?? 0;
  const density = Math.sqrt(Math.max(1, sentence.length / 80));
  return (hits * 3 + Math.min(numbers, 4) * 1.5 + Math.min(names, 4)) / density;
}

const CJK = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/;

const STOP_WORDS = new Set(
  (
    'the and for that with this from are was were has have had not but its you your can may will would should could ' +
    'into than then them they their there here what which who whom whose when where why how does did been being about ' +
    'also each such only over under more most some any all one two per via der die das und ist ein eine mit von den ' +
    'les des une est que pour dans los las una con por del para'
  ).split(' '),
);
