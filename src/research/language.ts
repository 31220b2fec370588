/**
 * The language of a question, in English words for the prompt, or undefined where it cannot be told from a few words.
 * Scripts tell most languages apart; common words tell the larger ones in Latin letters.
 */
export function languageOf(text: string): string | undefined {
  for (const [language, script] of SCRIPTS) if (count(text, script) * 4 >= count(text, /\p{L}/gu)) return language;
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  let best: { language: string; hits: number } | undefined;
  for (const [language, common] of COMMON_WORDS) {
    const hits = words.filter((word) => common.has(word)).length;
    if (hits > (best?.hits ?? 0)) best = { language, hits };
  }
  return best?.language;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length || (pattern.source === '\\p{L}' ? Number.POSITIVE_INFINITY : 0);
}

const SCRIPTS: readonly [string, RegExp][] = [
  ['Japanese', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['Korean', /\p{Script=Hangul}/gu],
  ['Chinese', /\p{Script=Han}/gu],
  ['Russian', /\p{Script=Cyrillic}/gu],
  ['Arabic', /\p{Script=Arabic}/gu],
  ['Hebrew', /\p{Script=Hebrew}/gu],
  ['Greek', /\p{Script=Greek}/gu],
  ['Hindi', /\p{Script=Devanagari}/gu],
  ['Thai', /\p{Script=Thai}/gu],
];

const words = (text: string) => new Set(text.split(' '));
const COMMON_WORDS: readonly [string, ReadonlySet<string>][] = [
  ['English', words('the of and is are what which how why when who does do did in to for with was were can a an')],
  [
    'German',
    words('der die das und ist sind was welche wie warum wann wer in zu für mit war ein eine nicht auf von den'),
  ],
  [
    'French',
    words('le la les et est sont quel quelle comment pourquoi quand qui dans pour avec un une des du que sur'),
  ],
  ['Spanish', words('el la los las y es son qué cuál cómo por cuándo quién en para con un una de del que sobre')],
  ['Italian', words('il lo la gli e è sono quale come perché quando chi in per con un una di del che su')],
  ['Portuguese', words('o a os as e é são qual como por quando quem em para com um uma de do da que sobre')],
  ['Dutch', words('de het en is zijn wat welke hoe waarom wanneer wie in te voor met een van niet op')],
  ['Polish', words('i jest są co jaki jak dlaczego kiedy kto w do dla z na nie się że')],
];
