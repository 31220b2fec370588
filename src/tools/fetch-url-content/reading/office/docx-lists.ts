import { xmlEvents } from './xml-events.ts';

/** A level of a list: what its numbers look like (ECMA-376, part 1, 17.9). */
export interface ListLevel {
  /** Such as `decimal`, `lowerRoman` or `bullet`. */
  format: string;
  /** Such as `%1.%2`. */
  text: string;
  start: number;
}

export interface NumberedList {
  /** Lists of one kind count on from each other. */
  kind: string;
  levels: readonly ListLevel[];
  /** Where levels of this list begin anew. */
  starts: ReadonlyMap<number, number>;
}

/** The lists of a document by their ids. */
export type ListsById = ReadonlyMap<string, NumberedList>;

/** Deeper levels are none that Word has. */
const MAX_LEVELS = 9;

/** The lists in `numbering.xml`. */
export function readLists(xml: string): ListsById {
  const kinds = new Map<string, ListLevel[]>();
  const lists = new Map<string, NumberedList>();
  let levels: ListLevel[] = [];
  let starts = new Map<number, number>();
  let level: ListLevel | undefined;
  let at = 0;
  let list = '';
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    const value = event.attribute('w:val');
    if (event.name === 'w:abstractnum') {
      levels = [];
      kinds.set(event.attribute('w:abstractNumId'), levels);
    } else if (event.name === 'w:num') list = event.attribute('w:numId');
    else if (event.name === 'w:abstractnumid') {
      starts = new Map();
      levels = [...(kinds.get(value) ?? [])];
      lists.set(list, { kind: value, levels, starts });
    } else if (event.name === 'w:lvl' || event.name === 'w:lvloverride') {
      at = Math.min(Number(event.attribute('w:ilvl')) || 0, MAX_LEVELS);
      if (event.name === 'w:lvl') levels[at] = level = { format: 'decimal', text: `%${at + 1}.`, start: 1 };
    } else if (event.name === 'w:startoverride') starts.set(at, Number(value) || 1);
    else if (!level) continue;
    else if (event.name === 'w:start') level.start = value === '' ? 1 : Number(value) || 0;
    else if (event.name === 'w:numfmt') level.format = value;
    else if (event.name === 'w:lvltext') level.text = value.slice(0, 40);
  }
  return lists;
}

/** What stands before an item, and its number where Markdown has such; nothing for a bullet. */
export interface ItemLabel {
  number?: number;
  label?: string;
}

/** Counts the items of the lists of a document. */
export class ListNumbers {
  readonly #lists: ListsById;
  /** By the kind of list. */
  readonly #counts = new Map<string, number[]>();
  readonly #begun = new Set<string>();

  constructor(lists: ListsById) {
    this.#lists = lists;
  }

  /** The next item of a list; undefined where there is no such list. */
  next(id: string, depth: number): ItemLabel | undefined {
    const list = this.#lists.get(id);
    if (!list) return undefined;
    // A file may name any number.
    const at = Math.trunc(Math.min(Math.max(depth, 0), MAX_LEVELS));
    const counts = this.#counts.get(list.kind) ?? [];
    this.#counts.set(list.kind, counts);
    const first = (level: number) => list.levels[level]?.start ?? 1;
    const begins = `${id}/${at}`;
    const restart = this.#begun.has(begins) ? undefined : list.starts.get(at);
    this.#begun.add(begins);
    counts[at] = restart ?? (counts[at] === undefined ? first(at) : counts[at] + 1);
    // An item begins what is below it anew.
    counts.length = at + 1;
    for (let above = 0; above < at; above++) counts[above] ??= first(above);
    const level = list.levels[at];
    if (!level || level.format === 'bullet' || level.format === 'none') return {};
    const isPlain = level.format === 'decimal' && level.text.replace(/[.)]$/, '') === `%${at + 1}`;
    const label = level.text.replace(/%(\d)/g, (_, digit: string) => {
      const shown = Number(digit) - 1;
      return shownAs(counts[shown] ?? first(shown), list.levels[shown]?.format ?? 'decimal');
    });
    if (label.trim() === '') return {};
    return { label: label.trim(), ...(isPlain ? { number: counts[at] ?? 1 } : {}) };
  }
}

const ROMAN = { m: 1000, cm: 900, d: 500, cd: 400, c: 100, xc: 90, l: 50, xl: 40, x: 10, ix: 9, v: 5, iv: 4, i: 1 };

function shownAs(number: number, format: string): string {
  if (/roman$/i.test(format) && number > 0 && number < 4000) {
    let left = number;
    const roman = Object.entries(ROMAN)
      .map(([letters, worth]) => {
        const times = Math.floor(left / worth);
        left -= times * worth;
        return letters.repeat(times);
      })
      .join('');
    return format.startsWith('upper') ? roman.toUpperCase() : roman;
  }
  if (/letter$/i.test(format) && number > 0 && number < 500) {
    // After z comes aa, then bb.
    const letter = String.fromCharCode(97 + ((number - 1) % 26)).repeat(Math.ceil(number / 26));
    return format.startsWith('upper') ? letter.toUpperCase() : letter;
  }
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number);
}
