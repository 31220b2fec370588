/** The addresses of the links that a shown text refers to. */
export interface ShownLinks {
  /** By their labels, such as `L3`. */
  links: Record<string, string>;
  /** Links of the text for which there was no room. */
  left: number;
  /** What the shown links take, in UTF-16 code units. */
  length: number;
}

/** What a label and an address take beside their own characters. */
const AROUND = 6;

/** The links of `text`, in its order, as many as fit into `room` UTF-16 code units. */
export function linksIn(text: string, addresses: readonly string[] | undefined, room: number): ShownLinks {
  const shown: ShownLinks = { links: {}, left: 0, length: 0 };
  if (!addresses) return shown;
  const numbers = new Set([...text.matchAll(/\]\[L(\d{1,7})\]/g)].map(([, number]) => Number(number)));
  for (const number of numbers) {
    const address = addresses[number - 1];
    if (address === undefined) continue;
    const length = address.length + String(number).length + 1 + AROUND;
    if (shown.length + length > room) {
      shown.left += 1;
      continue;
    }
    shown.links[`L${number}`] = address;
    shown.length += length;
  }
  return shown;
}
