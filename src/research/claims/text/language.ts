/** Function words by language; those of a sentence reveal its language. */

const FUNCTION_WORDS = {
  en:
    'the and for that with this from are was were has have had not but its you your can will would should than then ' +
    'them they their there here what which who whom whose when where why how does did been being about also each such ' +
    'only over under more most some any all per via into after before during since until between among both as at by ' +
    'in on of to is it an or be he she we his her him our so if no nor up out do one ones other others according ' +
    'around roughly nearly almost approximately less least within while although though because however ' +
    'came made make took place became become very just still now yet already those these same said says',
  de:
    'der die das und ist ein eine einen einem einer eines mit von den dem des im in am an auf fur zu zum zur bei aus ' +
    'nach vor uber unter durch wie als auch nicht sich wurde wurden wird werden hat haben hatte war waren sind es er ' +
    'sie ihr ihre ihren seine seinen sein dass oder aber noch nur rund etwa mehr weniger fast seit bis um so sowie ' +
    'damit dabei dort hier diese dieser dieses beim vom laut gegen ohne zwischen sehr man kann schon bereits',
  fr:
    'les des une est que pour dans par sur avec plus moins qui sont ete etait il elle ils elles au aux ce cette ces ' +
    'son sa ses leur leurs un la le du de en et ou se ne pas environ pres apres avant depuis selon entre a ont eu lors dont ' +
    'mais sous sans comme tres ainsi encore deja tout',
  es:
    'los las una el ella con por del para sus su como mas menos entre sobre desde hasta fue fueron es son ha han ' +
    'habia era eran al lo se no que y o en un unos unas este esta estos estas cerca tras sin muy segun tambien pero de la todavia aun ya todo',
  it:
    'il lo gli uno della dello delle degli dei del al alla allo alle agli nel nella nelle nei sul sulla con per tra ' +
    'fra che chi cui non piu meno come anche sono stato stata stati state era erano ha hanno aveva secondo circa dopo prima ' +
    'da dal dalla si e o ed di la un una ancora gia tutto',
  ru: 'и в на с по для из от до к о у за не что как это был была было его ее их при или а но также',
} as const;

export type Language = keyof typeof FUNCTION_WORDS;

const LANGUAGES: ReadonlyMap<string, readonly Language[]> = byWord();

function byWord(): Map<string, Language[]> {
  const languages = new Map<string, Language[]>();
  for (const language of ['en', 'de', 'fr', 'es', 'it', 'ru'] as const) {
    for (const word of FUNCTION_WORDS[language].split(' ')) {
      languages.set(word, [...(languages.get(word) ?? []), language]);
    }
  }
  return languages;
}

/** Whether a word is a function word or a word of comparison or precision; the latter are compared elsewhere. */
export function isFunctionWord(word: string): boolean {
  return word.length < 2 || LANGUAGES.has(word);
}

/** The language of most function words in a folded sentence; undefined if it has none. */
export function languageOf(text: string): Language | undefined {
  const counts: Partial<Record<Language, number>> = {};
  let best: Language | undefined;
  for (const word of text.match(/\p{L}+(?:'\p{L}+)*/gu) ?? []) {
    for (const language of LANGUAGES.get(word) ?? []) {
      const count = (counts[language] ?? 0) + 1;
      counts[language] = count;
      if (best === undefined || count > (counts[best] ?? 0)) best = language;
    }
  }
  return best;
}

export const ARTICLES = new Set(
  'the a an der die das den dem des ein eine einen einem einer le la les un une el los las una il lo gli i l o os um uma'.split(
    ' ',
  ),
);
