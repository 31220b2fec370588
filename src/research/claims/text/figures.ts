import { DIRECTIONS } from '../rules/lexicon.ts';
import { CJK_FACTORS, cjkNumber, halvesIn, partsIn } from './number-words.ts';
import { Places } from './places.ts';
import { factorsOf, spelledNumbers } from './spelled.ts';
import { PERCENT, quotientAt, rateAt, scaleBetween, type Unit, unitAt } from './units.ts';

/** Finds figures in a folded text and their values: `5.9 million`, `5 889 000`, `12,5 %`, `twelve`, `330万人`. */

/** How exact a sentence says that a figure is. */
export type Precision = 'exact' | 'about' | 'over' | 'under';

export interface Figure {
  start: number;
  end: number;
  /** The possible readings: `1.083` is a thousand in some languages and a fraction in others. */
  values: readonly number[];
  /** The magnitude of the last given digit, for each value. */
  steps: readonly number[];
  /** A magnitude such as `million` follows, so that the last digit is rounded. */
  isRounded: boolean;
  unit: Unit | undefined;
  /** The letters before it, with their hyphen, if it is part of a name: `covid-19`. */
  label?: string | undefined;
  /** The unit that a rate is per, if it is one. */
  rate?: string | undefined;
  /** A quotient of units that are not known, if it has one: `µg/l`. */
  quotient?: string | undefined;
  /** Whether a minus sign is before it. */
  isBelowZero?: boolean;
  /** Whether the words around it say that something fell, so that a source may write it with a minus sign. Lazy like `precision`. */
  falls?: () => boolean;
  /** Lazy, because it is only needed for claims and costs more than finding the figure. */
  precision: () => Precision;
}

/** A space after four digits does not group them: `in 1925 340 people`. */
const NUMBER = /\d+(?:(?:[.,]|(?<!\d{4})['\u00a0\u202f\u2009 ٬])(?=\d{3}(?!\d))\d{3}|[.,٫]\d+)*/g;

/** Words after a number that multiply it, one factor per line. */
const MAGNITUDES = factorsOf(`
1e12 trillion trillions billiones billones billionen трлн
1e9 billion billions bn billon mrd mld mia milyar ty млрд δισ مليار बिलियन अरब
1e6 millions mio mln milyon milioane млн εκατ ملايين trieu मिलियन
1e7 करोड़ करोड़ crore crores
1e5 लाख lakh lakhs
1e3 thousand thousands tausend mille mil mila duizend tusen tusind tys bin ribu nghin ngan mii тыс тис ألف آلاف हज़ार हज़ार हजार
`);
/** The stems of such words that are inflected. */
const INFLECTED = factorsOf(`
1e12 trilh триллион
1e9 milliard miliar miljard bilh миллиард мільярд δισεκατομμ
1e6 million millon milion miljo milh миллион мільйон εκατομμ مليون
1e3 тысяч тисяч χιλιαδ χιλιάδ
`);

/** The word after a number, with the second one of `mil millones`. */
const NEXT_WORD = /^\s?([\p{L}\p{M}]+)( mil(?:lones|ioni|hoes)(?!\p{L}))?\.?/u;

function magnitudeWord(after: string): { factor: number; length: number } | undefined {
  const [all, word = '', second] = NEXT_WORD.exec(after) ?? [];
  if (all === undefined) return undefined;
  const factor = MAGNITUDES.get(word) ?? INFLECTED.entries().find(([beginning]) => word.startsWith(beginning))?.[1];
  if (factor === undefined) return undefined;
  if (second !== undefined && word === 'mil') return { factor: 1e9, length: all.length };
  const isShort = after[all.length - 1] === '.' && word.length <= 4;
  return { factor, length: all.length - (second?.length ?? 0) - (after[all.length - 1] === '.' && !isShort ? 1 : 0) };
}
/** Letters that multiply a number directly before them. */
const LETTERS: readonly (readonly [pattern: RegExp, factor: number])[] = [
  [/^\s?md(?=€)/, 1e9],
  [/^\s?m(?=€)/, 1e6],
  [/^\s?k(?=€)/, 1e3],
  [/^m(?![a-z0-9²³])/, 1e6],
  [/^(?:bn|b)(?![a-z0-9])/, 1e9],
  [/^k(?![a-z0-9])/, 1e3],
];
/** In a unit, `千` is kilo and `兆` mega: `3千克`, `45兆瓦`. */
const CJK_MAGNITUDE = /^\s?(?:[万萬亿億만억조]|千(?![克米瓦卡])|兆(?![瓦赫焦]))+/;

/** The figures of a folded text, in order. `taken`: the ranges of dates. */
export function figuresIn(text: string, taken: readonly { start: number; end: number }[] = []): Figure[] {
  const figures: Figure[] = [];
  const places = new Places(text, taken);
  const add = (figure: Figure) => {
    places.add(figure);
    figures.push(figure);
  };
  for (const { start, end } of halvesIn(text)) {
    const figure = written(text, { index: start, end, digits: '0.5' });
    if (figure.isRounded || figure.unit) add(figure);
  }
  for (const found of partsIn(text)) {
    if (!places.has(found.start))
      add({ ...found, unit: PERCENT, precision: () => roughly(precisionAt(text, found)), isRounded: true });
  }
  for (const { 0: digits, index } of text.matchAll(NUMBER)) {
    const isInName = /[\p{L}_]/u.test(text[index - 1] ?? '') && !isUnitless(text, index);
    if (isInName || places.has(index)) continue;
    const figure = written(text, { index, end: index + digits.length, digits });
    const before = figures.at(-1);
    const isRest = before?.end === index && CJK_MAGNITUDE.test(text[index - 1] ?? '');
    if (isRest) figures.pop();
    add(isRest ? added(before, figure) : figure);
  }
  for (const found of [...spelledNumbers(text), ...cjkNumber(text)]) {
    if (!places.has(found.start)) add({ ...found, ...surrounding(text, found), isRounded: false });
  }
  figures.sort((a, b) => a.start - b.start);
  return withUnitsBehind(joined(figures, text), text);
}

/** A fraction that is written as words is never exact. */
function roughly(precision: Precision): Precision {
  return precision === 'exact' ? 'about' : precision;
}

/** `3万1000`: one number. */
function added(before: Figure, rest: Figure): Figure {
  const sum = (before.values[0] ?? 0) + (rest.values[0] ?? 0);
  return { ...rest, start: before.start, values: [sum], steps: rest.steps.slice(0, 1) };
}

/** `2 hours 51 minutes`, `2メートル37センチ`: one figure in the larger unit. */
function joined(figures: readonly Figure[], text: string): Figure[] {
  const all: Figure[] = [];
  for (const figure of figures) {
    const before = all.at(-1);
    const scale = before?.unit && figure.unit && scaleBetween(before.unit, figure.unit);
    const [whole = 0, rest = 0] = [before?.values[0], figure.values[0]];
    const isPart = scale !== undefined && scale < 1 && rest * scale < 1;
    if (!before || !isPart || !COMPOUND.test(text.slice(before.end, figure.start))) all.push(figure);
    else {
      const steps = [(figure.steps[0] ?? 1) * scale];
      all[all.length - 1] = { ...before, end: figure.end, values: [whole + rest * scale], steps };
    }
  }
  return all;
}
const COMPOUND = /^ ?(?:(?:and|und|et|y|e) )?$/;

/** `500-700 million dollars`: the first figure has the magnitude and the unit of the second. `4.5 and 2.8 %`: its unit. */
function withUnitsBehind(figures: readonly Figure[], text: string): Figure[] {
  return figures.map((figure, at) => {
    const next = figures[at + 1];
    const between = next ? text.slice(figure.end, next.start) : '';
    if (next?.unit && !figure.unit && !figure.isRounded && AND.test(between)) return { ...figure, unit: next.unit };
    if (!next || figure.isRounded || !RANGE.test(between)) return figure;
    const factor =
      next.isRounded && next.unit !== PERCENT ? FACTORS.findLast((each) => each <= (next.values[0] ?? 0)) : undefined;
    const unit = figure.unit ?? next.unit;
    if (factor === undefined) return { ...figure, unit };
    const scaled = {
      values: figure.values.map((value) => value * factor),
      steps: figure.steps.map((step) => step * factor),
    };
    return { ...figure, unit, values: [...scaled.values, ...figure.values], steps: [...scaled.steps, ...figure.steps] };
  });
}
const AND = /^ ?(?:and|und|et|y|e|и|和|及|と|、) ?$/;
const RANGE = /^ ?(?:[-–—~〜～]|to|bis|auf|a|al|至|到|から) ?$/;

const FACTORS = [1e3, 1e6, 1e9, 1e12] as const;

/** Whether letters before digits are no name such as `A320` or `q3`: a currency, or a script without spaces. */
function isUnitless(text: string, index: number): boolean {
  return (
    /[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u.test(text[index - 1] ?? '') ||
    /(?:us|eu|rs|r|chf|eur|usd)$/.test(text.slice(Math.max(0, index - 3), index))
  );
}

function written(text: string, { index, end: last, digits }: { index: number; end: number; digits: string }): Figure {
  let end = last;
  const readings = readingsOf(digits);
  const after = text.slice(end, end + 24);
  const { factors, length } = magnitudeOf(after, text.slice(Math.max(0, index - 5), index));
  if (length > 0) end += length;
  const values: number[] = [];
  const steps: number[] = [];
  for (const { value, step } of readings) {
    for (const factor of factors) {
      values.push(value * factor);
      steps.push(step * factor);
    }
  }
  return {
    start: index,
    values,
    steps,
    isRounded: factors.some((factor) => factor > 1),
    label: text[index - 1] === '-' ? LABEL.exec(text.slice(Math.max(0, index - LONGEST_LABEL), index))?.[0] : undefined,
    ...surrounding(text, { start: index, end }),
  };
}
const LABEL = /(?<!\p{L})(?!(?:mid|pre|post|sub|non|over|under|mitte|anfang|ende)-)\p{L}+-$/u;
const LONGEST_LABEL = 24;

/** The readings of a number in different locales, each with the magnitude of its last digit. */
function readingsOf(digits: string): { value: number; step: number }[] {
  const plain = digits.replace(/['\u00a0\u202f\u2009 ٬]/g, '').replace('٫', ',');
  const separators = plain.match(/[.,]/g) ?? [];
  const [first] = separators;
  const last = separators.at(-1);
  if (first === undefined || last === undefined) return [reading(plain, 0)];
  const decimals = plain.length - plain.lastIndexOf(last) - 1;
  const grouped = reading(plain.replace(/[.,]/g, ''), 0);
  const decimal = reading(`${plain.slice(0, -decimals - 1).replace(/[.,]/g, '')}.${plain.slice(-decimals)}`, decimals);
  if (separators.length > 1) return first === last ? [grouped] : [decimal];
  if (decimals === 3 && plain.length <= 7 && !plain.startsWith('0')) return [grouped, decimal];
  return [decimal];
}

function reading(digits: string, decimals: number): { value: number; step: number } {
  return { value: Number(digits), step: 10 ** -decimals };
}

function magnitudeOf(after: string, before: string): { factors: number[]; length: number } {
  if (!MAY_MULTIPLY.test(after)) return { factors: [1], length: 0 };
  const cjk = CJK_MAGNITUDE.exec(after)?.[0];
  if (cjk !== undefined) {
    let factor = 1;
    for (const sign of cjk.trim()) factor *= CJK_FACTORS.get(sign) ?? 1;
    return { factors: [factor], length: cjk.length };
  }
  const word = magnitudeWord(after);
  if (word) return { factors: [word.factor], length: word.length };
  for (const [pattern, factor] of LETTERS) {
    const found = pattern.exec(after)?.[0];
    if (found === undefined) continue;
    // `41m tonnes` and `132 M€` are millions; `41m` alone may be metres.
    const isSure = /[$€£¥₹]\s?$/.test(before) || unitAt('', after.slice(found.length)) !== undefined;
    return { factors: isSure ? [factor] : [factor, 1], length: isSure ? found.length : 0 };
  }
  return { factors: [1], length: 0 };
}
/** How every word or letter that multiplies starts. */
const MAY_MULTIPLY = /^\s?[tbmkcdlnrтмأآمδεχबअमकलह千万萬亿億兆만억조십]/;

const BELOW_ZERO = /(?:^|(?<!\d)\s|[(|])[-–−][$€£¥]?$|(?:minus|moins|menos|meno) $|零下$|氷点下$|マイナス$/;

/** Whether a text says that something fell, or is missing. */
export function saysFall(text: string): boolean {
  return DIRECTIONS[1].isIn(text) || LOSS.test(text);
}
const LOSS = /loss|lost|deficit|negativ|verlust|minus|perte|perdi[dt]|赤字|亏损/;

/** What the text around a figure says: its unit, and how exact it is. */
function surrounding(
  text: string,
  { start, end }: { start: number; end: number },
): Pick<Figure, 'end' | 'unit' | 'rate' | 'quotient' | 'isBelowZero' | 'falls' | 'precision'> {
  const before = text.slice(Math.max(0, start - 28), start);
  const after = text.slice(end, end + 32);
  const unit = unitAt(before, after);
  const rate = unit?.unit.dimension === 'time' ? undefined : rateAt(after.slice(unit?.length ?? 0));
  let precision: Precision | undefined;
  return {
    end: end + (unit?.length ?? 0),
    unit: unit?.unit,
    rate,
    quotient: unit ? undefined : quotientAt(after),
    isBelowZero: BELOW_ZERO.test(before),
    falls: () => unit?.unit.dimension !== 'temperature' && saysFall(before + after),
    precision: () => (precision ??= precisionOf(before, after)),
  };
}

const BEFORE: readonly (readonly [pattern: RegExp, precision: Precision])[] = [
  [
    /(?<!(?<!\p{L})(?:no|not|nicht|non|pas|не) )(?:more than|over|above|exceed(?:s|ed|ing)?|at least|no less than|not less than|no fewer than|a minimum of|mehr als|uber|mindestens|plus d[e']s?|au moins|superieure? a|depass(?:e|ent|ait)|ubersteig(?:t|en)|super(?:a|o|an|aron)|mas de|al menos|piu di|oltre|almeno|pelo menos|mais de|超过|超過|逾|至少|более|больше|свыше|не менее|превы(?:сил|ша)\p{L}{0,4}|أكثر من|(?:[يت])?تجاوزت?|[يت]زيد \p{L}{0,12} ?على|ما لا يقل عن)\s?(?:the |les |los |le |die |der |la |a |i |gli )?[$€£¥]?\s?$|(?:超过|超過|逾)[^\d，。、]{0,3}$/u,
    'over',
  ],
  [
    /(?:less than|under|below|nearly|almost|up to|just under|fewer than|at most|no more than|not more than|a maximum of|weniger als|hochstens|maximal|nicht mehr als|unter|fast|knapp|beinahe|bis zu|moins d[e']|pres de|presque|jusqu'a|au plus|au maximum|menos de|casi|hasta|como maximo|no mas de|quasi|meno di|fino a|al massimo|non piu di|ate|no maximo|最多|至多|近|将近|接近|不到|不足|почти|менее|до|ما يقرب من)\s?(?:the |les |los |le |de |a |i |gli )?[$€£¥]?\s?$/,
    'under',
  ],
  [
    /(?:about|around|roughly|approximately|some|circa|ca\.|c\.|close to|etwa|rund|ungefahr|zirka|gut|gegen|environ|a peu pres|quelque|autour de|unos|unas|alrededor de|cerca de|aproximadamente|casi|circa|约|約|大约|大約|大概|およそ|ほぼ|около|примерно|приблизительно|حوالي|نحو|تقريبا)\s?(?:the |les |los |le |de |a |i |gli )?[$€£¥]?\s?$/,
    'about',
  ],
];
const AFTER: readonly (readonly [pattern: RegExp, precision: Precision])[] = [
  [/^.{0,4}?(?:以上|余|餘|多|强|超|を超|を上回)/, 'over'],
  [/^.{0,4}?(?:近く|未満|弱|以下|以内|を切|を下回)/, 'under'],
  [/^.{0,6}?(?:左右|上下|前后|ほど|程度|くらい|ぐらい|前後)/, 'about'],
];

/** How exact a number is, by the text around it. */
export function precisionAt(text: string, { start, end }: { start: number; end: number }): Precision {
  return precisionOf(text.slice(Math.max(0, start - 28), start), text.slice(end, end + 32));
}

function precisionOf(before: string, after: string): Precision {
  for (const [pattern, precision] of BEFORE) if (pattern.test(before)) return precision;
  for (const [pattern, precision] of AFTER) if (pattern.test(after)) return precision;
  return 'exact';
}
