import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as english } from '@orama/stemmers/english';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as greek } from '@orama/stemmers/greek';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { stemmer as ukrainian } from '@orama/stemmers/ukrainian';
import { languageOfWords, STOP_WORDS } from '../../text/stop-words.ts';

/** The stemmers by language (Snowball). */
const STEMMERS = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  it: italian,
  pt: portuguese,
  nl: dutch,
  sv: swedish,
  da: danish,
  no: norwegian,
  fi: finnish,
  ru: russian,
  uk: ukrainian,
  el: greek,
  ar: arabic,
  ro: romanian,
  hu: hungarian,
  tr: turkish,
};

/** Languages with compound words that are written as one word. */
const COMPOUNDING: ReadonlySet<string> = new Set(['de', 'nl', 'sv', 'da', 'no', 'fi']);

export type IndexLanguage = keyof typeof STEMMERS;

/** The language of texts whose own cannot be detected. */
export const FALLBACK: IndexLanguage = 'en';

export const LANGUAGES: readonly IndexLanguage[] = Object.keys(STEMMERS).filter(isLanguage);

export function isLanguage(name: string): name is IndexLanguage {
  return Object.hasOwn(STEMMERS, name);
}

export function stopWords(language: IndexLanguage): ReadonlySet<string> {
  return STOP_WORDS.get(language) ?? new Set();
}

/** Whether the language has compound words. */
export function hasCompounds(language: IndexLanguage): boolean {
  return COMPOUNDING.has(language);
}

const SAMPLE = 4000;
const LETTERS = /[\p{L}\p{M}]+/gu;

/**
 * Detects the language of a text by its stop words; undefined where they do not decide. In running text of any of these
 * languages, at least one word in eight is a stop word; half of that is enough.
 */
export function detectLanguage(text: string): IndexLanguage | undefined {
  const words = text.slice(0, SAMPLE).toLowerCase().match(LETTERS) ?? [];
  const language = languageOfWords(words, words.length / 16);
  return language !== undefined && isLanguage(language) ? language : undefined;
}

/** Longer words are not stemmed, in characters. */
const MAX_WORD = 40;
const MAX_CACHED = 50_000;

/** Stems words, with a cache, since most words of a text were seen before. */
export class Stems {
  readonly #known = new Map<IndexLanguage, Map<string, string>>();

  /** The stem of a word in lower case. */
  of(word: string, language: IndexLanguage): string {
    if (word.length > MAX_WORD) return word;
    let known = this.#known.get(language);
    if (!known || known.size > MAX_CACHED) {
      known = new Map();
      this.#known.set(language, known);
    }
    const found = known.get(word);
    if (found !== undefined) return found;
    const stem = STEMMERS[language](word) || word;
    known.set(word, stem);
    return stem;
  }
}
