/** The addresses of the links in a part of a document. */
export interface PartLinks {
  /** By their labels, such as `L3`. */
  links: Record<string, string>;
  /** How many links of the text did not fit. */
  omitted: number;
  /** The space that `links` takes, in UTF-16 code units. */
  length: number;
}

/** The quotes and separators around a label and its address in JSON, in characters. */
const JSON_OVERHEAD = 6;

/** The links of `text` that fit into `room` UTF-16 code units, in the order of the text. */
export function linksIn(text: string, addresses: readonly string[] | undefined, room: number): PartLinks {
  const found: PartLinks = { links: {}, omitted: 0, length: 0 };
  if (!addresses) return found;
  const numbers = new Set([...text.matchAll(/\]\[L(\d{1,7})\]/g)].map(([, number]) => Number(number)));
  for (const number of numbers) {
    const address = addresses[number - 1];
    if (address === undefined) continue;
    const length = address.length + String(number).length + 1 + JSON_OVERHEAD;
    if (found.length + length > room) {
      found.omitted += 1;
      continue;
    }
    found.links[`L${number}`] = address;
    found.length += length;
  }
  return found;
}
