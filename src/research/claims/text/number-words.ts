import { foldedPattern } from './fold.ts';
import { type FoundNumber, factorsOf, numberOf } from './spelled.ts';

/** Finds fractions, ordinals, and numbers in Chinese numerals. */

/** Names of fractions, and those that may also be ordinals: `a third runway`. */
const HALF = 'half|halfte|moitie|mitad|meta';
const PART_NAME =
  'fifths|sixths|sevenths|eighths|ninths|tenths|quarters|thirds|drittel|viertel|funftel|sechstel|siebtel|achtel|neuntel|zehntel|tiers|cinquiemes|sixiemes|septiemes|huitiemes|dixiemes|tercios|quintos|sextos|octavos|decimos|terzi|quinti|sesti|ottavi|decimi';
const ORDINAL_TOO =
  'third|tercio|terzo|quarter|quart|quarts|cuarto|cuartos|cuarta|quarto|quarti|fifth|cinquieme|quinto|tenth|dixieme|decimo';
const FRACTION = new RegExp(
  foldedPattern(
    `(?<!\\p{L})(?<!(?<!\\p{L})(?:and|und|et|y|e) (?:an? |ein |une? )?)(?:(?<count>\\p{L}+)[ -])?(?<name>(?:${HALF}|${PART_NAME})(?!\\p{L})|(?:${ORDINAL_TOO})(?= (?:of|der|des|de|d'|von|di|del|dei|delle)(?!\\p{L})|[.,;]|$))`,
  ),
  'g',
);
/** A cheap test before the expression. */
const MAY_BE_FRACTION = new RegExp(`${HALF}|${PART_NAME}|${ORDINAL_TOO}`);
/** Before a fraction these make it one of a series: `the third quarter`. */
const OF_A_ROW =
  /^(?:first|second|third|fourth|last|erste[snmr]?|zweite[snmr]?|dritte[snmr]?|premier|primer|ultimo|primo|secondo|terzo|[a-z]{3,}ieme)$/;
/** Verbs that mean a change by half. */
const HALVED = new RegExp(
  foldedPattern('(?<!\\p{L})(?:halved|halves|halving|halbier\\p{L}*|dimezza\\p{L}*)(?!\\p{L})'),
  'g',
);
const PARTS: readonly (readonly [pattern: RegExp, whole: number])[] = [
  [/^(?:half|halfte|moitie|mitad|meta)/, 2],
  [/^(?:third|drittel|tiers|tercio|terz)/, 3],
  [/^(?:quart|viertel|cuart)/, 4],
  [/^(?:fifth|funftel|cinquieme|quint)/, 5],
  [/^(?:sixth|sechstel|sixieme|sext|sest)/, 6],
  [/^(?:seventh|siebtel|septieme)/, 7],
  [/^(?:eighth|achtel|huitieme|octav|ottav)/, 8],
  [/^(?:ninth|neuntel)/, 9],
  [/^(?:tenth|zehntel|dixieme|decim)/, 10],
];
/** Fractions in Chinese and Japanese: `三分之二`, `3分の2`, `半分`. */
const CJK_PART =
  /(?<whole>[二三四五六七八九]|(?<!\d)\d{1,3})(?:分[之の]|[軒人世個][軒人帯]?に)(?<part>[一二三四五六七八九]|\d{1,3})|半[数減减分]|一半/g;

/** `six in ten`, `drei von zehn`, `4 sur 10`. */
const OF_SO_MANY = / (?:in|out of|von|sur|de cada|su) (?<whole>\d+|[a-z]{2,10})(?![a-z\d])/g;
const PART = /(?<![\d.,])(?<part>[a-z]{1,12}|\d{1,3})$/;
const PART_WITH_NOUN = /(?<![\d.,])(?<part>[a-z]{1,12}|\d{1,3}) [a-zß-ʯ]{1,24}$/;
/** The longest `PART_WITH_NOUN`. */
const BEFORE = 32;

/** `Jedes vierte Kind`, `every third house`. */
const EACH =
  /(?<![a-zß-ʯ])(?:jede[rsnm]?|every|ogni|each) (?:(?<half>second|other|zweite[rsn]?)|(?<third>third|dritte[rsn]?)|(?<fourth>fourth|vierte[rsn]?)|(?<fifth>fifth|funfte[rsn]?)|(?<tenth>tenth|zehnte[rsn]?))(?![a-zß-ʯ])/g;
const EACH_PARTS: Readonly<Record<string, number>> = { half: 50, third: 100 / 3, fourth: 25, fifth: 20, tenth: 10 };

/** Half of what follows, if that is a magnitude or a unit: `half a million`, `une demi-heure`, `半年`. */
const HALF_OF =
  /(?<![\p{L}-])(?<!(?<!\p{L})(?:and|und|et|y|e|first|second|other) (?:an? |ein |une? )?)(?:half(?: an? ?|[ -])|(?:ein\p{L}* )?halbe[snrm]? |demi-|medi[oa] |mei[oa] |mezz(?:[oa] |'))|(?<![上下前后後大多个個])半(?=年|小时|小時|個?月|个月|か月|天|日)/gu;

/** Where a half of something may be; what follows tells whether it is a figure. */
export function* halvesIn(text: string): Generator<Pick<FoundNumber, 'start' | 'end'>> {
  for (const { 0: words, index } of text.matchAll(HALF_OF)) {
    yield { start: index, end: index + words.trimEnd().length };
  }
}

/** Tenths, as Chinese and Japanese count them. */
const TENTHS = /(?<part>[一二三四五六七八九\d])(?:成|割)(?<half>半)?/g;

/** Fractions that are written as words, in percent. */
export function* partsIn(text: string): Generator<FoundNumber> {
  for (const { 0: words, index, groups } of text.matchAll(OF_SO_MANY)) {
    const whole = countOf(groups?.whole);
    if (whole === undefined || whole > 100) continue;
    const before = text.slice(Math.max(0, index - BEFORE), index);
    const found = PART.exec(before);
    const ofNoun = words.startsWith(' sur ') ? PART_WITH_NOUN.exec(before) : null;
    const part = countOf(found?.groups?.part) ?? countOf(ofNoun?.groups?.part);
    if (part === undefined || part >= whole) continue;
    const start = index - (ofNoun?.[0] ?? found?.[0] ?? '').length;
    yield { start, end: index + words.length, values: [(part * 100) / whole], steps: [1] };
  }
  for (const { 0: words, index, groups = {} } of text.matchAll(EACH)) {
    const name = Object.keys(groups).find((key) => groups[key] !== undefined) ?? '';
    yield { start: index, end: index + words.length, values: [EACH_PARTS[name] ?? 0], steps: [1] };
  }
  for (const { 0: sign, index, groups } of text.matchAll(TENTHS)) {
    const tenths = (DIGITS[groups?.part ?? ''] ?? Number(groups?.part)) + (groups?.half === undefined ? 0 : 0.5);
    yield { start: index, end: index + sign.length, values: [tenths * 10], steps: [1] };
  }
  for (const { 0: words, index, groups } of MAY_BE_FRACTION.test(text) ? text.matchAll(FRACTION) : []) {
    const whole = PARTS.find(([pattern]) => pattern.test(groups?.name ?? ''))?.[1];
    if (whole === undefined) continue;
    const count = countOf(groups?.count);
    if ((count ?? 1) >= whole || OF_A_ROW.test(groups?.count ?? '')) continue;
    const end = index + words.length;
    const start = count === undefined ? end - (groups?.name ?? '').length : index;
    yield { start, end, values: [((count ?? 1) * 100) / whole], steps: [1] };
  }
  for (const { 0: word, index } of text.matchAll(HALVED))
    yield { start: index, end: index + word.length, values: [50], steps: [1] };
  for (const { 0: words, index, groups } of text.matchAll(CJK_PART)) {
    const [part = 1, whole = 2] = [groups?.part, groups?.whole].map((sign) =>
      sign === undefined ? undefined : (DIGITS[sign] ?? Number(sign)),
    );
    if (part < whole) yield { start: index, end: index + words.length, values: [(part * 100) / whole], steps: [1] };
  }
}

function countOf(word = ''): number | undefined {
  return /^\d/.test(word) ? Number(word) : /^(?:one|ein|eine[srmn]?|une?|un[oa])$/.test(word) ? 1 : numberOf(word);
}

const DIGITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries([...'零一二三四五六七八九'].map((sign, value) => [sign, value])),
  〇: 0,
  两: 2,
};
/** Factors of numerals; those from ten thousand on multiply everything before them. */
export const CJK_FACTORS = factorsOf(`
10 十
100 百
1e3 千
1e4 万 萬 만
1e8 亿 億 억
1e12 兆 조
`);
const CJK_NUMERAL = /[零〇一二两三四五六七八九十百千万亿億兆]+/g;
/** Counters: a single numeral before anything else is part of a word. */
const COUNTED = /^[个個年月日天周週次人名座家倍分位所种種项項条條层層章篇国國県省市岁歳円元度台棟つ回件社校店]/;

/** Numbers in Chinese numerals. */
export function* cjkNumber(text: string): Generator<FoundNumber> {
  for (const { 0: numeral, index } of text.matchAll(CJK_NUMERAL)) {
    const end = index + numeral.length;
    const counts = COUNTED.test(text.slice(end, end + 1));
    if (numeral === '一' || (numeral.length === 1 && (!counts || DIGITS[numeral] === undefined))) continue;
    if (/^[万亿億兆百千]+$/.test(numeral)) continue;
    if (numeral.length > 1 && !/[十百千万亿億]/.test(numeral) && !counts) continue;
    const value = cjkValue(numeral);
    if (value !== undefined && value > 1) yield { start: index, end, values: [value], steps: [1] };
  }
}

function cjkValue(numeral: string): number | undefined {
  if (/^[零〇一二三四五六七八九]{2,}$/.test(numeral)) {
    return Number([...numeral].map((sign) => DIGITS[sign]).join(''));
  }
  let total = 0;
  let group = 0;
  let digit: number | undefined;
  for (const sign of numeral) {
    const factor = CJK_FACTORS.get(sign);
    if (factor === undefined) digit = DIGITS[sign];
    else {
      if (factor < 1e4) group += (digit ?? 1) * factor;
      else [total, group] = [total + (group + (digit ?? 0)) * factor, 0];
      digit = undefined;
    }
  }
  return total + group + (digit ?? 0);
}

/** Ordinals from the second on, by their number. A final `a` is a gender ending; `maxLength` leaves room for endings. */
const ORDINALS = new Map<number, { beginning: string; maxLength: number }[]>();
for (const words of [
  'second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth',
  'zweite dritte vierte funfte sechste siebte achte neunte zehnte elfte zwolfte',
  'deuxieme troisieme quatrieme cinquieme sixieme septieme huitieme neuvieme dixieme onzieme douzieme',
  'segunda tercera cuarta quinta sexta septima octava novena decima undecima duodecima',
  'seconda terza quarta quinta sesta settima ottava nona decima undicesima dodicesima',
])
  for (const [at, word] of words.split(' ').entries()) {
    const beginning = word.replace(/a$/, '');
    ORDINALS.set(at + 2, [...(ORDINALS.get(at + 2) ?? []), { beginning, maxLength: word.length + 1 }]);
  }

/** Whether a folded text has the ordinal of a number: `the eighth line` is `line 8`. */
export function isOrdinalIn(text: string, value: number): boolean {
  const own = ORDINALS.get(value);
  if (!own) return false;
  const words = text.match(/\p{L}+/gu) ?? [];
  return own.some(({ beginning, maxLength }) =>
    words.some((word) => word.length <= maxLength && word.startsWith(beginning)),
  );
}
