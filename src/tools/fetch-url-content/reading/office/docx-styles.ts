import { xmlEvents } from './xml-events.ts';

/** A paragraph style with the properties that it inherits from the style it is based on. */
export interface NamedStyle {
  /** 1 to 9 for headings. */
  heading?: number;
  /** The list that its paragraphs belong to, and their level. */
  list?: string;
  level?: number;
}

interface OwnStyle extends NamedStyle {
  base?: string;
}

/** The longest chain of styles that Word allows; a longer one is a loop. */
const MAX_CHAIN = 12;

/** Reads the styles of a document by id. Headings are recognised by name or outline level, because ids are translated. */
export function paragraphStyles(xml: string): ReadonlyMap<string, NamedStyle> {
  const definitions = new Map<string, OwnStyle>();
  let style: OwnStyle = {};
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open') continue;
    const value = event.attribute('w:val');
    if (event.name === 'w:style') {
      style = {};
      definitions.set(event.attribute('w:styleId'), style);
    } else if (event.name === 'w:name') {
      const level = /^heading (\d)$/i.exec(value)?.[1];
      if (level) style.heading = Number(level);
      else if (/^title$/i.test(value)) style.heading = 1;
    } else if (event.name === 'w:outlinelvl') style.heading ??= Number(value) + 1;
    else if (event.name === 'w:basedon') style.base = value;
    else if (event.name === 'w:numid') style.list = value;
    else if (event.name === 'w:ilvl') style.level = Number(value) || 0;
  }
  const styles = new Map<string, NamedStyle>();
  for (const [id, first] of definitions) {
    let found = first;
    for (let length = 0; found.base !== undefined && length < MAX_CHAIN; length++) {
      const base = definitions.get(found.base);
      if (!base) break;
      found = { ...base, ...found, base: base.base ?? '' };
    }
    styles.set(id, found);
  }
  return styles;
}
