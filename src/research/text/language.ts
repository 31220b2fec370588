import { endsOf } from './prose.ts';

/** Only the start and the end of a longer question are read, in UTF-16 code units. */
const MAX_READ = 4000;

/**
 * The English name of a question's language, for the prompt; undefined in doubt, because a wrong guess would lead to an
 * answer in the wrong language. Most languages are told apart by script, the larger ones of a script by common words.
 */
export function questionLanguage(question: string): string | undefined {
  const text = endsOf(question, MAX_READ);
  const letters = count(text, /\p{L}/gu);
  if (letters === 0) return undefined;
  const script = SCRIPTS.find(({ letters: own }) => count(text, own) * 4 >= letters);
  const words: string[] = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  if (!script) return byWords(words, LATIN);
  const special = script.unless?.find(([, own]) => own.test(text));
  if (special) return special[0];
  return (script.words && byWords(words, script.words)) ?? script.language;
}

function byWords(words: readonly string[], languages: CommonWords): string | undefined {
  const hits = languages
    .map(([language, common]) => ({ language, hits: words.filter((word) => common.has(word)).length }))
    .sort((a, b) => b.hits - a.hits);
  const [best, second] = hits;
  if (!best || best.hits < 2 || best.hits * 6 < words.length || best.hits === second?.hits) return undefined;
  return best.language;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

type CommonWords = readonly (readonly [language: string, words: ReadonlySet<string>])[];

interface Script {
  letters: RegExp;
  /** The language unless letters or words indicate another one. */
  language: string;
  /** Letters that only other languages of the script have. */
  unless?: readonly (readonly [language: string, letters: RegExp])[];
  words?: CommonWords;
}

const words = (text: string) => new Set(text.split(' '));

const SCRIPTS: readonly Script[] = [
  { language: 'Japanese', letters: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu },
  { language: 'Korean', letters: /\p{Script=Hangul}/gu },
  { language: 'Chinese', letters: /\p{Script=Han}/gu },
  {
    language: 'Russian',
    letters: /\p{Script=Cyrillic}/gu,
    unless: [
      ['Ukrainian', /[їєґ]/i],
      ['Belarusian', /ў/i],
      ['Serbian', /[ђљњћџ]/i],
    ],
    words: [
      ['Bulgarian', words('какво какъв каква къде кога защо как е са на в се за от и')],
      ['Ukrainian', words('що як де коли чому хто який яка яке які та і в на з до це є')],
      ['Russian', words('что как где когда почему кто какой какая какое какие и в на с до это есть для из не')],
    ],
  },
  {
    language: 'Arabic',
    letters: /\p{Script=Arabic}/gu,
    unless: [
      ['Urdu', /[ٹڈڑںےھ]/],
      ['Persian', /[پچژگ]/],
    ],
  },
  { language: 'Hebrew', letters: /\p{Script=Hebrew}/gu },
  { language: 'Greek', letters: /\p{Script=Greek}/gu },
  { language: 'Hindi', letters: /\p{Script=Devanagari}/gu },
  { language: 'Thai', letters: /\p{Script=Thai}/gu },
];

const LATIN: CommonWords = [
  [
    'English',
    words('the of and is are what which how why when where who does do did in to for with was were can a an'),
  ],
  [
    'German',
    words('der die das und ist sind was welche wie warum wann wer in zu für mit war ein eine nicht auf von den'),
  ],
  [
    'French',
    words('le la les et est sont quel quelle comment pourquoi quand qui dans pour avec un une des du de que sur'),
  ],
  ['Spanish', words('el la los las y es son qué cuál cómo por cuándo quién en para con un una de del que sobre')],
  ['Italian', words('il lo la gli e è sono quale come perché quando chi in per con un una di del che su')],
  ['Portuguese', words('o a os as e é são qual como por quando quem em para com um uma de do da que sobre')],
  ['Dutch', words('de het en is zijn wat welke hoe waarom wanneer wie in te voor met een van niet op')],
  ['Polish', words('i jest są co jaki jak dlaczego kiedy kto w do dla z na nie się że')],
  ['Swedish', words('och är vad vilken vilka hur varför när vem i att för med en ett den det inte på av som till')],
  ['Danish', words('og er hvad hvilken hvordan hvorfor hvornår hvem i at for med en et den det ikke på af som til')],
  ['Turkish', words('ve bir bu ne nedir nasıl neden kim için ile mi mı da de olan en hangi kaç var')],
];
