import { foldedPattern } from './fold.ts';
import { alternatives } from './word-list.ts';

/** Units of figures. Those of one dimension are converted where a factor is given. */

export interface Unit {
  name: string;
  dimension: string;
  /** How many of the first unit of its dimension it is. */
  factor?: number;
}

type Row = readonly [name: string, dimension: string, factor: number | undefined, pattern: string];

/** Prefixes of watts and watt hours with their signs in Chinese and Japanese. */
const ELECTRIC = (
  [
    ['tera', 't', 1e9, '太', 'テラ'],
    ['giga', 'g', 1e6, '吉', 'ギガ'],
    ['mega', 'm', 1e3, '兆', 'メガ'],
    ['kilo', 'k', 1, '千', 'キロ'],
  ] as const
).flatMap(([prefix, letter, factor, han, kana]): Row[] => {
  const watts = `${prefix}(?:watt|vati|vatt)\\p{L}*`;
  const hours = ` ?-?(?:hours?|stunden?|heures?|horas?|ore|ora)|${prefix}(?:watt|vatt)(?:stunden?|ore|ora)`;
  return [
    [`${prefix}watt hour`, 'energy', factor, `${letter}wh|${watts}${hours}|${han}瓦时|${kana}ワット時`],
    [`${prefix}watt`, 'power', factor, `${letter}w|${watts}|${han}瓦|${kana}ワット`],
  ];
});

/** Bytes and hertz, with what they count in their first unit. */
const COUNTED = (
  [
    ['tera', 't', 1e12],
    ['giga', 'g', 1e9],
    ['mega', 'm', 1e6],
    ['kilo', 'k', 1e3],
  ] as const
).flatMap(([prefix, letter, factor]): Row[] => [
  [`${prefix}byte`, 'data', factor, `${letter}i?b|${prefix}(?:byte|octet)s?`],
  [`${prefix}hertz`, 'frequency', factor, `${letter}hz|${prefix}hert\\p{L}*`],
]);

/** Longer ones first where one begins with another. Patterns are of folded text, behind a number. */
const AFTER: readonly Row[] = [
  [
    'percentage points',
    'points',
    undefined,
    'percentage points?|prozentpunkten?|points? de pourcentage|puntos porcentuales|punti percentuali|个百分点|ポイント|п\\.?п\\.?',
  ],
  [
    'percent',
    'share',
    1,
    '%|percent|per cent|prozent|pour cent|pour-cent|por ciento|por cento|per cento|パーセント|процент\\p{L}*|في المئة|بالمئة',
  ],
  ['permille', 'share', 0.1, '‰|promille'],
  [
    'square kilometre',
    'area',
    1e6,
    'km²|km2|sq\\.? ?km|square kilomet\\p{L}*|quadratkilomet\\p{L}*|kilometres? carres?|kilometros? cuadrados?|chilometri quadrati|平方公里|平方キロメートル|平方キロ|平方千米|кв\\.? ?км|км²|км2|квадратн\\p{L}* километр\\p{L}*|quilometros? quadrados?|كيلومتر\\p{L}* مربع\\p{L}*',
  ],
  [
    'square metre',
    'area',
    1,
    'm²|m2|sqm|square met\\p{L}*|quadratmet\\p{L}*|metres? carres?|metros? cuadrados?|metri quadrati|平方米|平方メートル',
  ],
  ['square mile', 'area', 2.59e6, 'sq\\.? ?mi|square miles?|平方英里'],
  ['hectare', 'area', 1e4, 'hectares?|hektar|hectareas?|ettari|公顷|ヘクタール|ha|га|гектар\\p{L}*|هكتار\\p{L}*'],
  ['acre', 'area', 4046.86, 'acres?'],
  [
    'cubic kilometre',
    'volume',
    1e12,
    'km³|km3|cubic kilomet\\p{L}*|kubikkilomet\\p{L}*|kilometres? cubes?|kilometros? cubicos?|chilometri cubi|立方公里|立方千米|立方キロメートル',
  ],
  ['cubic hectometre', 'volume', 1e9, 'hm³|hm3|hectometros? cubicos?|hectometres? cubes?'],
  [
    'cubic metre',
    'volume',
    1e3,
    'm³|m3|cubic met\\p{L}*|kubikmet\\p{L}*|metres? cubes?|metros? cubicos?|metri cubi|立方米|立方メートル',
  ],
  ['hectolitre', 'volume', 100, 'hl|he[ck]toli[tr]\\p{L}*|ettolitr\\p{L}*'],
  ['millilitre', 'volume', 1e-3, 'ml|millilit\\p{L}*|mililitr\\p{L}*|毫升|ミリリットル'],
  ['litre', 'volume', 1, 'lit(?:re|er|ro|ri)s?n?|l|升|リットル'],
  ['gallon', 'volume', 3.785, 'gallons?|gallonen|galones|加仑|ガロン'],
  ['barrel', 'volume', 158.99, 'barrels?|barils?|barriles|barili|桶|バレル'],
  ...COUNTED,
  ['century', 'time', 3_155_760_000, 'centur(?:y|ies)|jahrhunderten?|siecles?|siglos?|secoli|世纪|世紀'],
  ['decade', 'time', 315_576_000, 'decades?|jahrzehnten?|decennies?|decadas?|decenn\\p{L}*'],
  [
    'kilometres per hour',
    'speed',
    1,
    'km/h|km/std|kph|км/ч|kilomet\\p{L}* (?:per|pro|par|por|all) ?\\p{L}*|километр\\p{L}* в час|公里/小时|公里每小时|时速',
  ],
  [
    'miles per hour',
    'speed',
    1.609344,
    'mph|mi/h|(?:miles?|meilen|miglia|millas) ?/ ?h|miles per hour|meilen pro stunde|millas por hora|miglia all.ora|миль/ч|миль в час|英里/小时',
  ],
  [
    'kilometre',
    'length',
    1000,
    'kilomet\\p{L}*|km|chilometr\\p{L}*|quilometr\\p{L}*|公里|千米|キロメートル|キロ|км|километр\\p{L}*|كيلومتر\\p{L}*',
  ],
  [
    'centimetre',
    'length',
    0.01,
    'centimet\\p{L}*|zentimet\\p{L}*|cm|厘米|センチメートル|センチ|см|сантиметр\\p{L}*|سنتيمتر\\p{L}*',
  ],
  ['millimetre', 'length', 0.001, 'millimet\\p{L}*|mm|毫米|ミリメートル|ミリ'],
  ['metre', 'length', 1, 'met(?:re|er|ro|ri)s?n?|m|米|メートル|м|метр\\p{L}*|متر\\p{L}*'],
  ['mile', 'length', 1609.344, 'miles?|meilen?|millas?|miglia|milhas?|英里|マイル|мил[ьи]|ميل\\p{L}*|أميال'],
  [
    'foot',
    'length',
    0.3048,
    'feet|foot|ft\\.?|fuss|fuß|pieds?|pies|piedi|pes|英尺|フィート|фут\\p{L}*|قدم\\p{L}*|أقدام',
  ],
  ['inch', 'length', 0.0254, 'inch(?:es)?|zoll|pouces?|pulgadas?|pollici|英寸|インチ'],
  ['tonne', 'mass', 1000, 'tonnes?|tonnen|tons?|toneladas?|tonnellate|t|吨|トン|тонн\\p{L}*|طن\\p{L}*|أطنان'],
  ['kilogram', 'mass', 1, 'kilogram\\p{L}*|kilos?|kg|公斤|千克|キログラム|кг|килограмм\\p{L}*|كيلوغرام\\p{L}*|كغ'],
  ['gram', 'mass', 0.001, 'gramm?\\p{L}*|g|克|グラム|г|грамм\\p{L}*|غرام\\p{L}*'],
  ['milligram', 'mass', 1e-6, 'milligram\\p{L}*|mg|毫克|ミリグラム'],
  ['pound', 'mass', 0.45359, 'lbs?|磅|ポンド'],
  ['celsius', 'temperature', undefined, '°\\s?c|℃|(?:degrees|grad|degres|grados|gradi) celsius|摄氏度|度'],
  ['fahrenheit', 'temperature', undefined, '°\\s?f|℉|(?:degrees|grad|degres) fahrenheit|华氏度'],
  ...ELECTRIC,
  ['hour', 'time', 3600, 'hours?|stunden?|heures?|horas?|ore|ora|小时|時間|час\\p{L}*|h|ساع\\p{L}*'],
  ['minute', 'time', 60, 'minut\\p{L}*|min\\.?|分钟|分間?(?![之の])|минут\\p{L}*|دقيق\\p{L}*'],
  ['second', 'time', 1, 'seconds?|sekunden?|secondes?|segundos?|secondi|秒|секунд\\p{L}*'],
  ['day', 'time', 86_400, 'days?|tagen?|tage|jours?|dias?|giorn[oi]|天|日間?(?!本)|дн\\p{L}*|день|يوم\\p{L}*'],
  ['week', 'time', 604_800, 'weeks?|wochen?|semaines?|semanas?|settiman[ae]|周|週間|недел\\p{L}*'],
  ['month', 'time', 2_629_800, 'months?|monaten?|monate|mois|mes(?:es)?|mes[ie]|个月|か月|ヶ月|カ月|месяц\\p{L}*'],
  ['year', 'time', 31_557_600, 'years?|jahren?|jahre|ans?|annees?|anos?|ann[oi]|年|лет|год\\p{L}*|سن\\p{L}*'],
  ['times', 'ratio', 1, 'times|fold|fach\\p{L}*|mal|fois|veces|volte|倍'],
  ['cent', 'money', undefined, 'cents?|centimes?|centimos?|centesimi|centavos?|美分|セント'],
  [
    'dollar',
    'money',
    undefined,
    '(?:us-?)?dollars?|dolares|dollari|usd|美元|ドル|米ドル|доллар\\p{L}*|\\$|دولار\\p{L}*',
  ],
  ['euro', 'money', undefined, 'euros?|eur|€|欧元|ユーロ|евро|يورو'],
  ['sterling', 'money', undefined, 'pounds?(?: sterling)?|pfund(?: sterling)?|£|英镑'],
  ['yen', 'money', undefined, 'yen|円|日元|日圆'],
  ['yuan', 'money', undefined, 'yuan|renminbi|元|人民币'],
  ['franc', 'money', undefined, '(?:swiss |schweizer )?franc?[ks]?e?n?|chf'],
  ...['peso', 'rupee', 'lira', 'zloty', 'shekel', 'dirham', 'riyal', 'baht'].map(
    (name): Row => [name, 'money', undefined, `${name}s?`],
  ),
  ['krona', 'money', undefined, 'kron[aeo]r?|kroner|corone|coronas|couronnes|sek|nok|dkk'],
  ['rouble', 'money', undefined, 'рубл\\p{L}*|roubles?|rubles?'],
];
const BEFORE: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/(?:\$|usd)\s?$/, 'dollar'],
  [/(?:€|eur)\s?$/, 'euro'],
  [/£\s?$/, 'sterling'],
  [/¥\s?$/, 'yen'],
  [/chf\s?$/, 'franc'],
  [/百分之\s?$/, 'percent'],
];

export const PERCENT: Unit = { name: 'percent', dimension: 'share', factor: 1 };

const units = new Map<string, Unit>(
  AFTER.map(([name, dimension, factor]) => [name, { name, dimension, ...(factor === undefined ? {} : { factor }) }]),
);
/** Those that may stand where a text begins with a sign: one expression for all of them, with a group for each. */
const byFirst: ReadonlyMap<string, { names: readonly string[]; pattern: RegExp }> = new Map(
  [...Map.groupBy(AFTER.flatMap(firstOf), ({ sign }) => sign)].map(([sign, rows]) => {
    const groups = rows.map(({ pattern }) => `(${pattern})`).join('|');
    // Nothing that goes on with letters of its own script is a unit.
    const pattern = `^(?:\\s|-)?(?:${groups})(?:(?<=[^a-zЀ-ӿ؀-ۿ])|(?![a-zЀ-ӿ؀-ۿ²³/]))`;
    return [sign, { names: rows.map(({ name }) => name), pattern: new RegExp(foldedPattern(pattern)) }];
  }),
);

function firstOf([name, , , pattern]: Row): { sign: string; name: string; pattern: string }[] {
  return [...new Set(alternatives(pattern).flatMap(firstSigns))].map((sign) => ({ sign, name, pattern }));
}

/** The signs that an alternative may begin with: of `(?:us-?)?dollars?` both. */
function firstSigns(pattern: string): string[] {
  const group = /^\(\?:([^()]*)\)(\??)(.*)$/.exec(pattern);
  if (!group) return [pattern.replace(/^\\/, '').charAt(0)];
  const [, inside = '', optional, rest = ''] = group;
  return [...alternatives(inside).flatMap(firstSigns), ...(optional === '?' ? firstSigns(rest) : [])];
}
/**
 * What units that begin with a letter go on with, by that letter: most words behind a number are told from units by two
 * letters, which costs less than an expression. '' is no letter; a unit that may go on with anything has '*'.
 */
const seconds: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [
    ...Map.groupBy(
      AFTER.flatMap(([, , , pattern]) => alternatives(pattern).flatMap(headsOf)),
      ([sign]) => sign,
    ),
  ].map(([sign, heads]) => [sign, new Set(heads.map(([, second]) => second))]),
);

/** The first sign of an alternative and the letter behind it. */
function headsOf(pattern: string): [sign: string, second: string][] {
  const group = /^\(\?:([^()]*)\)(\??)(.*)$/.exec(pattern);
  if (group) {
    const [, inside = '', optional, rest = ''] = group;
    return [...alternatives(inside).flatMap(headsOf), ...(optional === '?' ? headsOf(rest) : [])];
  }
  const [, sign = '', second = '', next = ''] = /^\\?(.)(.?)(.?)/su.exec(pattern) ?? [];
  if (second === '' || /[^\p{L}([\\.?*]/u.test(second)) return [[sign, '']];
  return /\p{L}/u.test(second) && next !== '?' ? [[sign, second]] : [[sign, '*']];
}

/** Whether a unit may begin so. */
function mayBeUnit(text: string): boolean {
  const own = seconds.get(text.charAt(0));
  const second = text.charAt(1);
  return (
    own !== undefined &&
    (own.has('*') || own.has(/[a-zа-я]/.test(second) ? second : '') || /[^a-z]/.test(text.charAt(0)))
  );
}

/** What all units begin with: nothing else is looked at. */
const MAY_BEGIN = /^(?:\s|-)?(?:de |d'|di |of )?[\p{L}%‰°℃℉$€£]/u;
const PARTICLE = /^\s(?:de |d'|di |of )/;
/** What Chinese and Japanese say between a number and its unit. */
const BETWEEN = /^[余餘多数]/;

/** The unit of a number, and how much of the text behind the number it takes. */
export function unitAt(before: string, after: string): { unit: Unit; length: number } | undefined {
  for (const [pattern, name] of BEFORE) {
    const unit = pattern.test(before) ? units.get(name) : undefined;
    if (unit) return { unit, length: 0 };
  }
  if (!MAY_BEGIN.test(after)) return undefined;
  const between = BETWEEN.exec(after)?.[0].length ?? 0;
  const particle = PARTICLE.exec(after)?.[0].length ?? between;
  const rest = particle > between ? ` ${after.slice(particle)}` : after.slice(between);
  const own = /^[\s-]/.test(rest) ? rest.slice(1) : rest;
  if (!mayBeUnit(own)) return undefined;
  const all = byFirst.get(own.charAt(0));
  const found = all?.pattern.exec(rest);
  const unit = found && units.get(all?.names[found.findIndex((group, at) => at > 0 && group !== undefined) - 1] ?? '');
  if (unit) return { unit, length: found[0].length + Math.max(between, particle - 1) };
  return undefined;
}

const RATE = /^(?:,? ?(?:per|an?|par|pro|je|por|al|cada|im|\/)) ?(?:the |le |la )?(?=\p{L})/u;

/** What a figure is counted for, `650 euros a month`, as the name of a unit of time. */
export function rateAt(after: string): string | undefined {
  const found = RATE.exec(after);
  const unit = found ? unitAt('', ` ${after.slice(found[0].length)}`)?.unit : undefined;
  return unit?.dimension === 'time' ? unit.name : undefined;
}

/** What a value in the unit of the source is multiplied by; undefined where the two measure different things. */
export function scaleBetween(claim: Unit | undefined, source: Unit | undefined): number | undefined {
  if (!claim || !source) return claim?.name === 'percent' || source?.name === 'percent' ? undefined : 1;
  if (claim.name === source.name) return 1;
  if (claim.name === 'cent' && source.dimension === 'money') return 100;
  if (source.name === 'cent' && claim.dimension === 'money') return 0.01;
  if (claim.dimension !== source.dimension || claim.factor === undefined || source.factor === undefined)
    return undefined;
  return source.factor / claim.factor;
}
