import { languageOfWords } from '../../tools/text/stop-words.ts';
import { endsOf } from './prose.ts';

/** Only the start and the end of a longer question are read, in UTF-16 code units. */
const MAX_READ = 4000;

/**
 * The English name of a question's language, for the prompt; undefined in doubt, because a wrong guess would lead to an
 * answer in the wrong language. Most languages are told apart by script, those with Latin or Cyrillic letters by stop words.
 */
export function questionLanguage(question: string): string | undefined {
  const text = endsOf(question, MAX_READ);
  const letters = count(text, /\p{L}/gu);
  if (letters === 0) return undefined;
  const script = SCRIPTS.find(({ letters: own }) => count(text, own) * 4 >= letters);
  const special = script?.unless?.find(([, own]) => own.test(text))?.[0];
  const told = script && !script.isShared ? undefined : byStopWords(text);
  const language = special ?? told ?? script?.language;
  return language && ENGLISH_NAMES.of(language);
}

function byStopWords(text: string): string | undefined {
  const words = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  return languageOfWords(words, Math.max(2, words.length / 6));
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

const ENGLISH_NAMES = new Intl.DisplayNames('en', { type: 'language' });

interface Script {
  letters: RegExp;
  /** The ISO 639 code of the language unless letters or words indicate another one. */
  language: string;
  /** Letters that only other languages of the script have. */
  unless?: readonly (readonly [language: string, letters: RegExp])[];
  /** Whether words indicate its other languages. */
  isShared?: true;
}

const SCRIPTS: readonly Script[] = [
  { language: 'ja', letters: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu },
  { language: 'ko', letters: /\p{Script=Hangul}/gu },
  { language: 'zh', letters: /\p{Script=Han}/gu },
  {
    language: 'ru',
    letters: /\p{Script=Cyrillic}/gu,
    unless: [
      ['uk', /[їєґ]/i],
      ['be', /ў/i],
      ['sr', /[ђљњћџ]/i],
    ],
    isShared: true,
  },
  {
    language: 'ar',
    letters: /\p{Script=Arabic}/gu,
    unless: [
      ['ur', /[ٹڈڑںےھ]/],
      ['fa', /[پچژگ]/],
    ],
  },
  { language: 'he', letters: /\p{Script=Hebrew}/gu },
  { language: 'el', letters: /\p{Script=Greek}/gu },
  { language: 'hi', letters: /\p{Script=Devanagari}/gu },
  { language: 'th', letters: /\p{Script=Thai}/gu },
];
