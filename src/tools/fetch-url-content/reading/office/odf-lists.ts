import { type ItemLabel, type ListLevel, ListNumbers, type NumberedList } from './docx-lists.ts';
import { xmlEvents } from './xml-events.ts';

const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({ 1: 'decimal', a: 'lowerLetter', A: 'upperLetter', i: 'lowerRoman', I: 'upperRoman' }),
);
const MAX_LEVELS = 9;
/** The name of the headings' list, which has none in the file. */
const OUTLINE = '';

/** Reads the list styles in a part of an OpenDocument, by name; that of the headings is `OUTLINE`. */
function listStyles(xml: string): Map<string, NumberedList> {
  const styles = new Map<string, NumberedList>();
  let levels: ListLevel[] = [];
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    // All styles come before the text.
    if (event.name === 'office:body') break;
    if (event.name === 'text:list-style' || event.name === 'text:outline-style') {
      const name = event.name === 'text:list-style' ? event.attribute('style:name') : OUTLINE;
      levels = [];
      styles.set(name, { kind: name, levels, starts: new Map() });
    } else if (/^text:(?:list-level-style-number|outline-level-style)$/.test(event.name)) {
      const level = Math.min(Number(event.attribute('text:level')) || 1, MAX_LEVELS);
      const shownLevels = Math.min(Number(event.attribute('text:display-levels')) || 1, level);
      const numbers = Array.from({ length: shownLevels }, (_, at) => `%${level - shownLevels + at + 1}`).join('.');
      const text = `${event.attribute('style:num-prefix')}${numbers}${event.attribute('style:num-suffix')}`;
      const format = FORMATS.get(event.attribute('style:num-format')) ?? 'none';
      levels[level - 1] = { format, text, start: Number(event.attribute('text:start-value')) || 1 };
    }
  }
  return styles;
}

/** Counts the list items and headings of an OpenDocument. */
export class OdfLists {
  readonly #styles: ReadonlyMap<string, NumberedList>;
  readonly #headings: ListNumbers;
  /** The counts of the last list of each style. */
  readonly #counted = new Map<string, ListNumbers>();
  /** The styles of open lists, the innermost last. */
  readonly #open: string[] = [];

  constructor(...parts: readonly string[]) {
    this.#styles = new Map(parts.flatMap((part) => [...listStyles(part)]));
    this.#headings = new ListNumbers(this.#styles);
  }

  get depth(): number {
    return this.#open.length;
  }

  begin(style: string, continues: boolean): void {
    const name = style || this.#open.at(-1) || OUTLINE;
    const isNew = this.#open.length === 0 && !continues;
    if (isNew || !this.#counted.has(name)) this.#counted.set(name, new ListNumbers(this.#styles));
    this.#open.push(name);
  }

  end(): void {
    this.#open.pop();
  }

  /** Counts the next item of the innermost list. */
  item(): ItemLabel | undefined {
    const style = this.#open.at(-1);
    return style ? this.#counted.get(style)?.next(style, this.depth - 1) : undefined;
  }

  /** Counts the next heading of a level, from 1. */
  heading(level: number): ItemLabel | undefined {
    return this.#headings.next(OUTLINE, level - 1);
  }
}
