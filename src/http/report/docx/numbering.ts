import { WORD_NAMESPACES, xmlPart } from './xml.ts';

/** How many list levels Word has. Deeper items use the last one. */
export const LIST_LEVELS = 9;
/** The indent of each level, in twentieths of a point. */
export const LEVEL_INDENT = 425;

/** The largest item number that Word shows. */
const MAX_START = 32_767;
const BULLETS = ['•', '◦', '▪'];

/** The lists of a document: one for all bullets, and one for each ordered list, because each starts anew. */
export class DocxLists {
  readonly #ordered: { start: number; level: number }[] = [];
  readonly bullets = 1;

  /** Adds an ordered list that counts from `start` on this level. Returns its id. */
  addOrdered(start: number, level: number): number {
    this.#ordered.push({ start: Math.min(start, MAX_START), level });
    return this.#ordered.length + this.bullets;
  }

  /** The part `numbering.xml`. */
  toString(): string {
    const own = this.#ordered.map(({ start, level }, at) => {
      const from = `<w:lvlOverride w:ilvl="${level}"><w:startOverride w:val="${start}"/></w:lvlOverride>`;
      return num(at + 1 + this.bullets, 1, from);
    });
    const kinds = [
      abstractNum(0, (level) => ['bullet', BULLETS[level % BULLETS.length] ?? '']),
      abstractNum(1, (level) => ['decimal', `%${level + 1}.`]),
    ];
    const lists = [num(this.bullets, 0), ...own];
    return xmlPart(`<w:numbering ${WORD_NAMESPACES}>${[...kinds, ...lists].join('')}</w:numbering>`);
  }
}

function num(id: number, kind: number, override = ''): string {
  return `<w:num w:numId="${id}"><w:abstractNumId w:val="${kind}"/>${override}</w:num>`;
}

function abstractNum(id: number, levelText: (level: number) => [format: string, text: string]): string {
  const levels = Array.from({ length: LIST_LEVELS }, (_, level) => {
    const [format, text] = levelText(level);
    const indent = `<w:ind w:left="${LEVEL_INDENT * (level + 1)}" w:hanging="${LEVEL_INDENT}"/>`;
    return `<w:lvl w:ilvl="${level}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/><w:lvlJc w:val="left"/><w:pPr>${indent}</w:pPr></w:lvl>`;
  });
  return `<w:abstractNum w:abstractNumId="${id}"><w:multiLevelType w:val="multilevel"/>${levels.join('')}</w:abstractNum>`;
}
