import { foldedPattern } from './fold.ts';

/** Units of figures. Units of one dimension are converted if they have a factor. */

export interface Unit {
  name: string;
  dimension: string;
  /** How many base units of its dimension it is. */
  factor?: number;
}

/**
 * One unit per line: dimension, factor, name, and how it is written after a number, as a pattern of folded text. If one
 * pattern is a prefix of another, the longer one comes first.
 */
const TABLE = String.raw`
points - percentage points: percentage points?|prozentpunkten?|points? de pourcentage|puntos porcentuales|punti percentuali|个百分点|ポイント|п\.?п\.?
share 1 percent: %|percent|per cent|prozent|pour cent|pour-cent|por ciento|por cento|per cento|パーセント|процент\p{L}*|في المئة|بالمئة
share 0.1 permille: ‰|promille
area 1e6 square kilometre: km²|km2|sq\.? ?km|square kilomet\p{L}*|quadratkilomet\p{L}*|kilometres? carres?|kilometros? cuadrados?|chilometri quadrati|平方公里|平方キロメートル|平方キロ|平方千米|кв\.? ?км|км²|км2|квадратн\p{L}* километр\p{L}*|quilometros? quadrados?|كيلومتر\p{L}* مربع\p{L}*
area 1 square metre: m²|m2|sqm|square met\p{L}*|quadratmet\p{L}*|metres? carres?|metros? cuadrados?|metri quadrati|平方米|平方メートル
area 2590000 square mile: sq\.? ?mi|square miles?|平方英里
area 10000 hectare: hectares?|hektar|hectareas?|ettari|公顷|ヘクタール|ha|га|гектар\p{L}*|هكتار\p{L}*
area 4046.86 acre: acres?
volume 1e12 cubic kilometre: km³|km3|cubic kilomet\p{L}*|kubikkilomet\p{L}*|kilometres? cubes?|kilometros? cubicos?|chilometri cubi|立方公里|立方千米|立方キロメートル
volume 1e9 cubic hectometre: hm³|hm3|hectometros? cubicos?|hectometres? cubes?
volume 1000 cubic metre: m³|m3|cubic met\p{L}*|kubikmet\p{L}*|metres? cubes?|metros? cubicos?|metri cubi|立方米|立方メートル
volume 100 hectolitre: hl|he[ck]toli[tr]\p{L}*|ettolitr\p{L}*
volume 0.001 millilitre: ml|millilit\p{L}*|mililitr\p{L}*|毫升|ミリリットル
volume 1 litre: lit(?:re|er|ro|ri)s?n?|l|升|リットル
volume 3.785 gallon: gallons?|gallonen|galones|加仑|ガロン
volume 158.99 barrel: barrels?|barils?|barriles|barili|桶|バレル
data 1e12 terabyte: ti?b|tera(?:byte|octet)s?
frequency 1e12 terahertz: thz|terahert\p{L}*
data 1e9 gigabyte: gi?b|giga(?:byte|octet)s?
frequency 1e9 gigahertz: ghz|gigahert\p{L}*
data 1e6 megabyte: mi?b|mega(?:byte|octet)s?
frequency 1e6 megahertz: mhz|megahert\p{L}*
data 1000 kilobyte: ki?b|kilo(?:byte|octet)s?
frequency 1000 kilohertz: khz|kilohert\p{L}*
time 3155760000 century: centur(?:y|ies)|jahrhunderten?|siecles?|siglos?|secoli|世纪|世紀
time 315576000 decade: decades?|jahrzehnten?|decennies?|decadas?|decenn\p{L}*
speed 1 kilometres per hour: km/h|km/std|kph|км/ч|kilomet\p{L}* (?:per|pro|par|por|all) ?\p{L}*|километр\p{L}* в час|公里/小时|公里每小时|时速
speed 1.609344 miles per hour: mph|mi/h|(?:miles?|meilen|miglia|millas) ?/ ?h|miles per hour|meilen pro stunde|millas por hora|miglia all.ora|миль/ч|миль в час|英里/小时
speed 3.6 metres per second: m/s|met(?:re|er)s? per second|meter pro sekunde|metres par seconde|metros por segundo|metri al secondo|米/秒
speed 1.852 knot: knots?|knoten|nœuds?|nudos|nodi
rate 1e9 terabit per second: tbit/s|tbps|terabits? (?:per|pro|par|por|al) \p{L}*
rate 1e6 gigabit per second: gbit/s|gbps|gb/s|gigabits? (?:per|pro|par|por|al) \p{L}*
rate 1000 megabit per second: mbit/s|mbps|megabits? (?:per|pro|par|por|al) \p{L}*
length 1000 kilometre: kilomet\p{L}*|km|chilometr\p{L}*|quilometr\p{L}*|公里|千米|キロメートル|キロ(?!ワット|グラム|バイト|カロリー|リットル|ヘルツ)|км|километр\p{L}*|كيلومتر\p{L}*
length 0.01 centimetre: centimet\p{L}*|zentimet\p{L}*|cm|厘米|センチメートル|センチ|см|сантиметр\p{L}*|سنتيمتر\p{L}*
length 0.001 millimetre: millimet\p{L}*|mm|毫米|ミリメートル|ミリ
length 1e-6 micrometre: [µμ]m|microns?|micromet\p{L}*|mikrometer|微米|マイクロメートル
length 1e-9 nanometre: nm|nanomet\p{L}*|纳米|ナノメートル
length 1852 nautical mile: nautical miles?|seemeilen?|mill?es? (?:nautiques|marins)|millas? nauticas?|miglia nautiche|海里
length 1 metre: met(?:re|er|ro|ri)s?n?|m|米|メートル|м|метр\p{L}*|متر\p{L}*
length 1609.344 mile: miles?|meilen?|millas?|miglia|milhas?|英里|マイル|мил[ьи]|ميل\p{L}*|أميال
length 0.3048 foot: feet|foot|ft\.?|fuss|fuß|pieds?|pies|piedi|pes|英尺|フィート|фут\p{L}*|قدم\p{L}*|أقدام
length 0.0254 inch: inch(?:es)?|zoll|pouces?|pulgadas?|pollici|英寸|インチ
mass 1000 tonne: tonnes?|tonnen|tons?|toneladas?|tonnellate|t|吨|トン|тонн\p{L}*|طن\p{L}*|أطنان
mass 1 kilogram: kilogram\p{L}*|kilos?|kg|公斤|千克|キログラム|кг|килограмм\p{L}*|كيلوغرام\p{L}*|كغ
mass 0.001 gram: gramm?\p{L}*|g|克|グラム|г|грамм\p{L}*|غرام\p{L}*
mass 0.000001 milligram: milligram\p{L}*|mg|毫克|ミリグラム
mass 1e-9 microgram: [µμ]g|mcg|microgram\p{L}*|mikrogramm|微克|マイクログラム
mass 1e9 megatonne: mt|megatonn\p{L}*
mass 1e12 gigatonne: gt|gigatonn\p{L}*
mass 0.45359 pound: lbs?|磅|ポンド
temperature - celsius: °\s?c|℃|(?:degrees|grad|degres|grados|gradi) celsius|摄氏度|度
temperature - fahrenheit: °\s?f|℉|(?:degrees|grad|degres) fahrenheit|华氏度
energy 1e9 terawatt hour: twh|tera(?:watt|vati|vatt)\p{L}* ?-?(?:hours?|stunden?|heures?|horas?|ore|ora)|tera(?:watt|vatt)(?:stunden?|ore|ora)|太瓦时|テラワット時|твт.?ч|тераватт-час\p{L}*|تيراواط ساعة
power 1e9 terawatt: tw|tera(?:watt|vati|vatt)\p{L}*|太瓦|テラワット
energy 1e6 gigawatt hour: gwh|giga(?:watt|vati|vatt)\p{L}* ?-?(?:hours?|stunden?|heures?|horas?|ore|ora)|giga(?:watt|vatt)(?:stunden?|ore|ora)|吉瓦时|ギガワット時|гвт.?ч|гигаватт-час\p{L}*|غيغاواط ساعة
power 1e6 gigawatt: gw|giga(?:watt|vati|vatt)\p{L}*|吉瓦|ギガワット|гвт|гигаватт\p{L}*|غيغاواط
energy 1000 megawatt hour: mwh|mega(?:watt|vati|vatt)\p{L}* ?-?(?:hours?|stunden?|heures?|horas?|ore|ora)|mega(?:watt|vatt)(?:stunden?|ore|ora)|兆瓦时|メガワット時|мвт.?ч|мегаватт-час\p{L}*|ميغاواط ساعة
power 1000 megawatt: mw|mega(?:watt|vati|vatt)\p{L}*|兆瓦|メガワット|мвт|мегаватт\p{L}*|ميغاواط
energy 1 kilowatt hour: kwh|kilo(?:watt|vati|vatt)\p{L}* ?-?(?:hours?|stunden?|heures?|horas?|ore|ora)|kilo(?:watt|vatt)(?:stunden?|ore|ora)|千瓦时|キロワット時|квт.?ч|киловатт-час\p{L}*|كيلوواط ساعة
power 1 kilowatt: kw|kilo(?:watt|vati|vatt)\p{L}*|千瓦|キロワット|квт|киловатт\p{L}*|كيلوواط
power 0.001 watt: w|watts?|瓦|ワット
energy 277.778 gigajoule: gj|gigajoules?
energy 0.277778 megajoule: mj|megajoules?
energy 0.000277778 kilojoule: kj|kilojoules?
energy 0.001163 kilocalorie: kcal|kilocalor\p{L}*|kilokalorien
pressure 1 hectopascal: hpa|mbar|millibars?|hectopascals?|hektopascal|百帕|ヘクトパスカル
pressure 1000 bar: bar
pressure 10 kilopascal: kpa|kilopascals?
pressure 10000 megapascal: mpa|megapascals?
pressure 68.9476 psi: psi
mixture 1 part per million: ppm|parts per million
mixture 0.001 part per billion: ppb|parts per billion
sound - decibel: db|decib\p{L}*|dezibel
time 0.001 millisecond: ms|millisecond\p{L}*|millisekunden?|毫秒|ミリ秒
time 3600 hour: hours?|stunden?|heures?|horas?|ore|ora|小时|時間|час\p{L}*|h|ساع\p{L}*
time 60 minute: minut\p{L}*|min\.?|分钟|分間?(?!之|の[\d一二三四五六七八九十])|минут\p{L}*|دقيق\p{L}*
time 1 second: seconds?|sekunden?|secondes?|segundos?|secondi|秒|секунд\p{L}*
time 86400 day: days?|tage?n?|jours?|dias?|giorn[oi]|天|日間?(?!本)|дн\p{L}*|день|يوم\p{L}*
time 604800 week: weeks?|wochen?|semaines?|semanas?|settiman[ae]|周|週間|недел\p{L}*
time 2629800 month: months?|monate?n?|mois|mes(?:es)?|mes[ie]|个月|か月|ヶ月|カ月|месяц\p{L}*
time 31557600 year: years?|jahre?n?|ans?|annees?|anos?|ann[oi]|年|лет|год\p{L}*|سن\p{L}*
ratio 1 times: times|fold|fach\p{L}*|mal|fois|veces|volte|倍
money - cent: cents?|centimes?|centimos?|centesimi|centavos?|美分|セント
money - dollar: (?:us-?)?dollars?|dolares|dollari|usd|美元|ドル|米ドル|доллар\p{L}*|\$|دولار\p{L}*
money - hong kong dollar: hk\$|hkd|港元|港币|港幣
money - taiwan dollar: 新台币|新台幣|台币|台幣
money - won: won|韩元|ウォン
money - euro: euros?|eur|€|欧元|ユーロ|евро|يورو
money - sterling: pounds?(?: sterling)?|pfund(?: sterling)?|£|英镑
money - yen: yen|円|日元|日圆
money - yuan: yuan|renminbi|元|人民币
money - franc: (?:swiss |schweizer )?franc?[ks]?e?n?|chf
money - peso: pesos?
money - rupee: rupees?
money - real: reais
money - lira: liras?
money - zloty: zlotys?
money - shekel: shekels?
money - dirham: dirhams?
money - riyal: riyals?
money - baht: bahts?
money - krona: kron[aeo]r?|crowns?|kroner|corone|coronas|couronnes|sek|nok|dkk
money - rouble: рубл\p{L}*|roubles?|rubles?
`;

const rows = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [, dimension = '', factor = '', name = '', pattern = ''] = /^(\S+) (\S+) ([^:]+): (.*)$/.exec(line) ?? [];
    return { unit: { name, dimension, ...(factor !== '-' && { factor: Number(factor) }) } satisfies Unit, pattern };
  });
const units = new Map<string, Unit>(rows.map(({ unit }) => [unit.name, unit]));
/** One expression with a group for each unit. A unit must not continue with letters of its own script. */
const UNIT = new RegExp(
  foldedPattern(
    `^(?:\\s|-)?(?:${rows.map(({ pattern }) => `(${pattern})`).join('|')})(?:(?<=[^a-zЀ-ӿ؀-ۿ])|(?![a-zЀ-ӿ؀-ۿ²³/]))`,
  ),
);

const BEFORE: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/(?<!\p{L})r\$\s?$/u, 'real'],
  [/(?:\$|usd)\s?$/, 'dollar'],
  [/(?:€|eur)\s?$/, 'euro'],
  [/£\s?$/, 'sterling'],
  [/¥\s?$/, 'yen'],
  [/₹\s?$/, 'rupee'],
  [/chf\s?$/, 'franc'],
  [/百分之\s?$/, 'percent'],
];

export const PERCENT: Unit = { name: 'percent', dimension: 'share', factor: 1 };

/** How every unit starts: a cheap test before the large expression. */
const MAY_BEGIN = /^(?:\s|-)?(?:de |d'|di |of )?[\p{L}%‰°℃℉$€£]/u;
const PARTICLE = /^\s(?:de |d'|di |of )/;
/** What may be between a number and its unit in Chinese and Japanese. */
const BETWEEN = /^[余餘多数]/;

/** The unit of a number, and its length in the text after the number. */
export function unitAt(before: string, after: string): { unit: Unit; length: number } | undefined {
  for (const [pattern, name] of BEFORE) {
    const unit = pattern.test(before) ? units.get(name) : undefined;
    if (unit) return { unit, length: 0 };
  }
  if (!MAY_BEGIN.test(after)) return undefined;
  const between = BETWEEN.exec(after)?.[0].length ?? 0;
  const particle = PARTICLE.exec(after)?.[0].length ?? between;
  const rest = particle > between ? ` ${after.slice(particle)}` : after.slice(between);
  const found = UNIT.exec(rest);
  const unit = found && rows[found.findIndex((group, at) => at > 0 && group !== undefined) - 1]?.unit;
  return unit ? { unit, length: found[0].length + Math.max(between, particle - 1) } : undefined;
}

const QUOTIENT = /^\s?((?:[a-z]|µ|μ|°){1,6}\/(?:\d{1,4} ?)?[a-z]{1,6}[²³]?)(?![a-z])/;

/** A unit that is written as a quotient and not in the table, such as `µg/l`. */
export function quotientAt(after: string): string | undefined {
  return QUOTIENT.exec(after)?.[1]?.replace('μ', 'µ');
}

const PER = new Set(['time', 'mass', 'volume', 'area', 'length', 'energy']);
const RATE = /^(?:,? ?(?:per|an?|par|pro|je|por|al|cada|im|\/)) ?(?:the |le |la )?(?=\p{L})/u;

/** What a rate is per, such as `650 euros a month` or `2 euros per kilo`, by the name of its unit. */
export function rateAt(after: string): string | undefined {
  const found = RATE.exec(after);
  const unit = found ? unitAt('', ` ${after.slice(found[0].length)}`)?.unit : undefined;
  return unit && PER.has(unit.dimension) ? unit.name : undefined;
}

/** The factor from the unit of the source to that of the claim; undefined if they measure different things. */
export function scaleBetween(claim: Unit | undefined, source: Unit | undefined): number | undefined {
  if (!claim || !source) return claim?.name === 'percent' || source?.name === 'percent' ? undefined : 1;
  if (claim.name === source.name) return 1;
  if (claim.name === 'cent' && source.dimension === 'money') return 100;
  if (source.name === 'cent' && claim.dimension === 'money') return 0.01;
  if (claim.dimension !== source.dimension || claim.factor === undefined || source.factor === undefined)
    return undefined;
  return source.factor / claim.factor;
}
