import { foldedPattern } from './fold.ts';
import { type Language, languageOf } from './language.ts';

/** Finds numbers that are spelled out: `one hundred and twenty-five`, `quatre-vingt-dix-sept`, `milleduecento`. */

export interface FoundNumber {
  start: number;
  end: number;
  values: number[];
  steps: number[];
}

/**
 * One series per line: the number of its first word, the step between words, and the words; forms of one number are
 * separated by slashes.
 */
const ROWS = `
1 1 one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
20 10 twenty thirty forty fifty sixty seventy eighty ninety
1 1 ein/eine/eins/einer/einem/einen zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn
20 10 zwanzig dreissig/dreißig vierzig funfzig sechzig siebzig achtzig neunzig
1 1 un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
20 10 vingt/vingts trente quarante cinquante soixante septante huitante nonante
1 1 uno/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve
20 1 veinte veintiuno/veintiun/veintiuna veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve
30 10 treinta cuarenta cincuenta sesenta setenta ochenta noventa
200 100 doscientos/doscientas trescientos/trescientas cuatrocientos/cuatrocientas quinientos/quinientas seiscientos/seiscientas setecientos/setecientas ochocientos/ochocientas novecientos/novecientas
2 1 due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove
20 10 venti/vent trenta/trent quaranta/quarant cinquanta/cinquant sessanta/sessant settanta/settant ottanta/ottant novanta/novant
1 1 um/uma dois/duas tres quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove
20 10 vinte trinta quarenta cinquenta sessenta setenta oitenta noventa
200 100 duzentos/duzentas trezentos/trezentas quatrocentos/quatrocentas quinhentos/quinhentas seiscentos/seiscentas setecentos/setecentas oitocentos/oitocentas novecentos/novecentas
2 1 twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien
20 10 twintig dertig veertig vijftig zestig zeventig tachtig negentig
1 1 один/одна/одну два/две/двух три/трех четыре/четырех пять/пяти шесть/шести семь/семи восемь/восьми девять/девяти десять/десяти одиннадцать двенадцать тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать
20 10 двадцать/двадцати тридцать/тридцати сорок/сорока пятьдесят/пятидесяти шестьдесят/шестидесяти семьдесят восемьдесят девяносто
100 100 сто/ста двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот
`;
/** One factor per line, with the words that multiply the number before them. */
const MAGNITUDES = `
12 dozen dozens dutzend douzaine douzaines docena docenas dozzina dozzine duzia duzias
100 hundred hundert cent cents cien ciento cento cem honderd
1e3 thousand tausend mille mil mila duizend тысяча тысячи тысяч
1e6 million millions millionen milliona millon millones milione milioni milhao milhoes miljoen миллион миллиона миллионов
1e9 billion billions milliarde milliarden milliard milliards miliardo miliardi bilhao bilhoes miljard миллиард миллиарда миллиардов
`;

/** Words that are numbers in one language only, and other words elsewhere: `due`, `très` without its accent. */
const ONLY_IN: ReadonlyMap<string, Language> = new Map(
  (
    [
      ['it', 'due tre sei otto nove vent trent'],
      ['es', 'tres once dos'],
      ['de', 'elf acht zes tien'],
      ['fr', 'sept cents'],
      ['ru', 'sto'],
    ] as const
  ).flatMap(([language, words]) => words.split(' ').map((word): [string, Language] => [word, language])),
);
/** Numbers that are usually articles when they are alone. */
const ARTICLES_TOO = new Set('one un une uno una um uma ein eine eins einer einem einen один одна одну'.split(' '));

const COUNTS = new Map<string, number>();
for (const row of ROWS.trim().split('\n')) {
  const [from, by, ...words] = row.split(' ');
  for (const [at, forms] of words.entries())
    for (const form of forms.split('/')) COUNTS.set(form, Number(from) + at * Number(by));
}
const FACTORS = factorsOf(MAGNITUDES);

/** The words of a table, each with the number at the start of its line. */
export function factorsOf(table: string): ReadonlyMap<string, number> {
  const rows = table.trim().split('\n');
  return new Map(
    rows.flatMap((row) => {
      const [factor, ...words] = row.split(' ');
      return words.map((word): [string, number] => [word, Number(factor)]);
    }),
  );
}

const ORDINAL_ENDS: ReadonlyMap<string, number> = new Map(
  'first second third fourth fifth sixth seventh eighth ninth'.split(' ').map((word, at) => [word, at + 1]),
);

/** A part of a spelled number: an addend or a factor. */
type Part = { count: number } | { factor: number };

/** The parts of numbers that German, Dutch and Italian write as one word. */
const MORPHEMES = [...COUNTS.keys(), ...FACTORS.keys()].filter(
  (word) => /^[a-zß]{3,}$/.test(word) && !ONLY_IN.has(word),
);
const MORPHEME = new RegExp(
  `(?:${[...MORPHEMES, 'due', 'tre', 'sei', 'otto', 'nove', 'acht', 'elf', 'ein', 'vent', 'trent'].sort((a, b) => b.length - a.length).join('|')}|und|en)`,
  'gy',
);
const SHORTEST_JOINED = 6;

/** The parts of one word; undefined if it is not a number. */
function partsOf(word: string): Part[] | undefined {
  const known = partOf(word);
  if (known) return [known];
  if (word.length < SHORTEST_JOINED || !JOINED.test(word)) return undefined;
  const parts: Part[] = [];
  MORPHEME.lastIndex = 0;
  for (let at = 0; at < word.length; at = MORPHEME.lastIndex) {
    const found = MORPHEME.exec(word)?.[0];
    if (found === undefined) return undefined;
    const part = partOf(found);
    if (part) parts.push(part);
  }
  return parts.length > 1 ? parts : undefined;
}
/** Every number of several parts in one word matches this. */
const JOINED =
  /und|hundert|tausend|cent|mila|mille|(?:vent|trent|quarant|cinquant|sessant|settant|ottant|novant)[iaou]|[a-z]en(?:twintig|dertig|[vz][a-z]{2,5}tig|tachtig|negentig)|honderd|duizend/;

function partOf(word: string): Part | undefined {
  const count = COUNTS.get(word);
  if (count !== undefined) return { count };
  const factor = FACTORS.get(word);
  return factor === undefined ? undefined : { factor };
}

/** The value of a word that is a number by itself. */
export function numberOf(word: string): number | undefined {
  if (ARTICLES_TOO.has(word)) return undefined;
  const parts = word.includes('-') ? word.split('-').flatMap((each) => partsOf(each) ?? []) : partsOf(word);
  return parts && parts.length > 0 && (parts.length > 1 || 'count' in (parts[0] ?? {}))
    ? numberFrom(parts)?.value
    : undefined;
}

const WORD = /\p{L}+/gu;
/** What may be between the words of one number. */
const JOINT = /^(?:[ -]|(?: |-)(?:and|et|y|e)(?: |-)| of )$/;
const CONNECTIVE = /^(?:and|et|y|e)$/;
const HALF = new RegExp(
  foldedPattern('^(?: and a half| et demie?| y medi[oa]| e mezz[oa]| e meia| е половиной)(?!\\p{L})'),
);

/** The spelled-out numbers of a folded text. */
export function* spelledNumbers(text: string): Generator<FoundNumber> {
  if (!text.match(WORD)?.some((word) => partsOf(word) || (word.endsWith('halb') && HALVES.test(word)))) return;
  const language = languageOf(text);
  let run: { start: number; end: number; parts: Part[]; words: string[] } | undefined;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (run && CONNECTIVE.test(word) && run.end === index - 1) continue;
    const half = HALVES.exec(word);
    const only = ONLY_IN.get(word);
    const parts =
      only !== undefined && only !== language && !(run && text[index - 1] === '-') ? undefined : partsOf(word);
    const ordinal = run && text[index - 1] === '-' ? ORDINAL_ENDS.get(word) : undefined;
    const next: Part[] | undefined = ordinal === undefined ? parts : [{ count: ordinal }];
    if (run) {
      const joint = text.slice(run.end, index);
      if (next && JOINT.test(joint) && mayFollow(run.parts, next, joint)) {
        run.end = index + word.length;
        run.parts.push(...next);
        run.words.push(word);
        continue;
      }
      yield* whole(run, text);
    }
    run = undefined;
    if (half)
      yield* whole({ start: index, end: index + word.length, parts: [{ count: halvesOf(half) }], words: [word] }, text);
    else if (parts) run = { start: index, end: index + word.length, parts, words: [word] };
  }
  if (run) yield* whole(run, text);
}

/** `anderthalb`, `zweieinhalb`. */
const HALVES = /^(?:(anderthalb|eineinhalb)|(zwei|drei|vier|funf|sechs)einhalb)$/;

function halvesOf([, one, more = '']: RegExpExecArray): number {
  return (one === undefined ? (COUNTS.get(more) ?? 0) : 1) + 0.5;
}

/** Whether a word continues the number before it: `forty-five`, `hundred and five`, but not `five and ten`. */
function mayFollow(before: readonly Part[], next: readonly Part[], joint: string): boolean {
  const [last, first] = [before.at(-1), next[0]];
  if (!last || !first) return false;
  const isBare = joint === ' ' || joint === '-';
  if ('factor' in first) return isBare || joint === ' of ';
  const { count } = first;
  if ('factor' in last) return joint !== ' of ' && last.factor >= 100 && count < last.factor;
  // `quatre-vingt`, `soixante-dix`, `nineteen ninety`, `twenty-five`, `treinta y cinco`, `doscientos veinte`.
  if (last.count === 4 && count === 20) return joint === '-';
  if (last.count >= 100) return isBare && count < 100;
  if (last.count === 10) return joint === '-' && count >= 7 && count <= 9;
  if (last.count === 60 || (before.length > 1 && last.count === 20)) return joint === ' ' ? count < 10 : count < 20;
  if (last.count >= 20 && last.count % 10 === 0 && count < 10) return true;
  return joint === ' ' && before.length === 1 && last.count >= 17 && last.count <= 20 && count >= 10;
}

function* whole(
  { start, end, parts, words }: { start: number; end: number; parts: readonly Part[]; words: readonly string[] },
  text: string,
): Generator<FoundNumber> {
  const [only] = words;
  const half = HALF.exec(text.slice(end, end + 20))?.[0] ?? '';
  if (words.length === 1 && only !== undefined && ARTICLES_TOO.has(only) && half === '') return;
  const found = numberFrom(parts);
  if (!found) return;
  const isFactor = parts.length === 1 && 'factor' in (parts[0] ?? {});
  // `Thousands of people` and `per cent` are no numbers.
  if (isFactor && half === '' && !ALONE.has(only ?? '')) return;
  let { value, step } = found;
  let last = end + half.length;
  if (half !== '') value += step / 2;
  const behind = /^ (\p{L}+)/u.exec(text.slice(last, last + 16));
  const factor =
    half === '' && !parts.some((part) => 'count' in part && !Number.isInteger(part.count))
      ? undefined
      : FACTORS.get(behind?.[1] ?? '');
  if (factor !== undefined) {
    value *= factor;
    step *= factor;
    last += behind?.[0].length ?? 0;
  }
  yield { start, end: last, values: [value], steps: [half === '' ? step : step / 2] };
}
const ALONE = new Set(['hundred', 'dozen', 'hundert', 'dutzend', 'cien', 'mille', 'mil']);

/** The value of the parts of a number, and the magnitude of its last word. */
function numberFrom(parts: readonly Part[]): { value: number; step: number } | undefined {
  let total = 0;
  let group = 0;
  let step = 1;
  for (const [at, part] of parts.entries()) {
    const before = parts[at - 1];
    if ('factor' in part) {
      step = part.factor;
      if (part.factor < 1000) group = Math.max(1, group) * part.factor;
      else {
        total += Math.max(1, group) * part.factor;
        group = 0;
      }
      continue;
    }
    const { count } = part;
    if (before && 'count' in before && before.count === 4 && count === 20) group += 76;
    else if (before && 'count' in before && parts.length <= 3 && group >= 17 && group <= 20 && count >= 10)
      group = group * 100 + count;
    else group += count;
    step = 1;
  }
  return total + group > 0 ? { value: total + group, step } : undefined;
}
