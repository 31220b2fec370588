import { xmlEvents } from './xml-events.ts';

/** The first number of each level of a list that counts; undefined for bullets. */
export type ListLevels = ReadonlyMap<string, readonly (number | undefined)[]>;

/** Deeper levels are none that Word has. */
const MAX_LEVELS = 9;

/** The levels of every list in `numbering.xml`, by the list's id (ECMA-376, part 1, 17.9). */
export function listLevels(xml: string): ListLevels {
  const abstract = new Map<string, (number | undefined)[]>();
  const lists = new Map<string, readonly (number | undefined)[]>();
  let levels: (number | undefined)[] = [];
  let list = '';
  let level = 0;
  let start = 1;
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    const value = event.attribute('w:val');
    if (event.name === 'w:abstractnum') {
      levels = [];
      abstract.set(event.attribute('w:abstractNumId'), levels);
    } else if (event.name === 'w:lvl') {
      level = Math.min(Number(event.attribute('w:ilvl')) || 0, MAX_LEVELS);
      start = 1;
    } else if (event.name === 'w:start') start = Number(value) || 1;
    else if (event.name === 'w:numfmt') levels[level] = value === 'bullet' || value === 'none' ? undefined : start;
    else if (event.name === 'w:num') list = event.attribute('w:numId');
    else if (event.name === 'w:abstractnumid') lists.set(list, abstract.get(value) ?? []);
  }
  return lists;
}

/** Counts the items of the lists of a document. */
export class ListNumbers {
  readonly #levels: ListLevels;
  readonly #counts = new Map<string, number[]>();

  constructor(levels: ListLevels) {
    this.#levels = levels;
  }

  /** The number of the next item of a list; undefined for a bullet. */
  next(list: string, depth: number): number | undefined {
    const level = Math.min(depth, MAX_LEVELS);
    const start = this.#levels.get(list)?.[level];
    const counts = this.#counts.get(list) ?? [];
    this.#counts.set(list, counts);
    // An item begins what is below it anew.
    counts.length = Math.min(counts.length, level + 1);
    if (start === undefined) return undefined;
    const number = (counts[level] ?? start - 1) + 1;
    counts[level] = number;
    return number;
  }
}
