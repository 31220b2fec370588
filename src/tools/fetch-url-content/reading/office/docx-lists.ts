import { formatNumeral } from '../numerals.ts';
import { xmlEvents } from './xml-events.ts';

/** The number format of one level of a list (ECMA-376, part 1, 17.9). */
export interface ListLevel {
  /** Such as `decimal`, `lowerRoman` or `bullet`. */
  format: string;
  /** Such as `%1.%2`. */
  text: string;
  start: number;
}

export interface NumberedList {
  /** Lists of one kind share their counts. */
  kind: string;
  levels: readonly ListLevel[];
  /** Numbers at which levels of this list restart. */
  starts: ReadonlyMap<number, number>;
}

/** The lists of a document by their ids. */
export type ListsById = ReadonlyMap<string, NumberedList>;

/** The most levels that Word has. */
const MAX_LEVELS = 9;

/** Reads the lists in `numbering.xml`. */
export function readLists(xml: string): ListsById {
  const kinds = new Map<string, ListLevel[]>();
  const lists = new Map<string, NumberedList>();
  let levels: ListLevel[] = [];
  let starts = new Map<number, number>();
  let level: ListLevel | undefined;
  let at = 0;
  let list = '';
  let kind = '';
  /** Kinds that only refer to a list style, and the kinds that define list styles. */
  const styleOf = new Map<string, string>();
  const kindOfStyle = new Map<string, string>();
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    const value = event.attribute('w:val');
    if (event.name === 'w:abstractnum') {
      levels = [];
      kind = event.attribute('w:abstractNumId');
      kinds.set(kind, levels);
    } else if (event.name === 'w:numstylelink') styleOf.set(kind, value);
    else if (event.name === 'w:stylelink') kindOfStyle.set(value, kind);
    else if (event.name === 'w:num') list = event.attribute('w:numId');
    else if (event.name === 'w:abstractnumid') {
      starts = new Map();
      const defined = kindOfStyle.get(styleOf.get(value) ?? '') ?? value;
      levels = [...(kinds.get(defined) ?? [])];
      lists.set(list, { kind: defined, levels, starts });
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

/** The label of an item, and its number if Markdown can write it; empty for a bullet. */
export interface ItemLabel {
  number?: number;
  label?: string;
}

/** Counts the items of a document's lists. */
export class ListNumbers {
  readonly #lists: ListsById;
  /** Counts of each level, by the kind of list. */
  readonly #counts = new Map<string, number[]>();
  readonly #startedLevels = new Set<string>();

  constructor(lists: ListsById) {
    this.#lists = lists;
  }

  /** Counts the next item of a list; undefined if there is no such list. */
  next(id: string, depth: number): ItemLabel | undefined {
    const list = this.#lists.get(id);
    if (!list) return undefined;
    // The file may contain any depth.
    const at = Math.trunc(Math.min(Math.max(depth, 0), MAX_LEVELS));
    const counts = this.#counts.getOrInsertComputed(list.kind, () => []);
    const first = (level: number) => list.levels[level]?.start ?? 1;
    const levelId = `${id}/${at}`;
    const restart = this.#startedLevels.has(levelId) ? undefined : list.starts.get(at);
    this.#startedLevels.add(levelId);
    counts[at] = restart ?? (counts[at] === undefined ? first(at) : counts[at] + 1);
    // An item restarts the levels below it.
    counts.length = at + 1;
    for (let above = 0; above < at; above++) counts[above] ??= first(above);
    const level = list.levels[at];
    if (!level || level.format === 'bullet' || level.format === 'none') return {};
    const isPlain = level.format === 'decimal' && level.text.replace(/[.)]$/, '') === `%${at + 1}`;
    const label = level.text.replace(/%(\d)/g, (_, digit: string) => {
      const index = Number(digit) - 1;
      return formatNumeral(counts[index] ?? first(index), list.levels[index]?.format ?? 'decimal');
    });
    if (label.trim() === '') return {};
    return { label: label.trim(), ...(isPlain ? { number: counts[at] ?? 1 } : {}) };
  }
}
