import { isWebAddress } from '../markers.ts';
import { RELATIONSHIPS, xmlPart, xmlText } from './xml.ts';

/** Word reports a file with a longer address as damaged; in characters. */
const MAX_ADDRESS = 2000;

/** A relationship of a part to another part of the file. */
export interface PartRelation {
  id: string;
  type: string;
  target: string;
}

/** The addresses that a part links to. Each gets an entry in the part's relationships. */
export class Links {
  readonly #ids = new Map<string, string>();

  /** Wraps the result of `write` in a link if `href` is a web address. */
  hyperlink(href: string, write: (isLink: boolean) => string): string {
    const target = uriOf(href);
    if (target === undefined) return write(false);
    const id = this.#ids.getOrInsertComputed(target, () => `link${this.#ids.size + 1}`);
    return `<w:hyperlink r:id="${id}">${write(true)}</w:hyperlink>`;
  }

  /** The relationships of the part, with those to other parts of the file. */
  relations(parts: readonly PartRelation[] = []): string {
    const own = parts.map(
      ({ id, type, target }) => `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
    );
    const links = [...this.#ids].map(
      ([target, id]) =>
        `<Relationship Id="${id}" Type="${RELATIONSHIPS}/hyperlink" Target="${xmlText(target)}" TargetMode="External"/>`,
    );
    return relationsPart([...own, ...links].join(''));
  }
}

/** A list of relationships. */
export function relationsPart(entries: string): string {
  return xmlPart(
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${entries}</Relationships>`,
  );
}

/** A strict RFC 3986 URI, because Word refuses to open files with any other. Undefined for what must not be linked. */
function uriOf(href: string): string | undefined {
  if (!isWebAddress(href)) return undefined;
  const uri = new URL(href).href
    .replace(/[^\w\-.~:/?#[\]@!$&'()*+,;=%]/gu, encodeURIComponent)
    .replace(/%(?![\da-f]{2})/gi, '%25');
  return uri.length > MAX_ADDRESS ? undefined : uri;
}
