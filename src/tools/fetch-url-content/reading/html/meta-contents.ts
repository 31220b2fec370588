import type { HtmlPage } from './tree.ts';

/** The contents of meta tags with one of these names, in the order of the names. */
export function metaContents({ metas }: HtmlPage, listed: string): string[] {
  const names = listed.split(' ');
  const found = names.map((): string[] => []);
  for (const attributes of metas) {
    const content = attributes.content?.trim() ?? '';
    // Facebook wants a profile's address in `article:author`; that is no name. Templates leave their places empty.
    if (!/[\p{L}\p{N}]/u.test(content) || content.startsWith('http') || content.includes('{{')) continue;
    for (const kind of ['property', 'name', 'itemprop', 'http-equiv']) {
      const at = names.indexOf((attributes[kind] ?? '').toLowerCase());
      if (at >= 0) found[at]?.push(content);
    }
  }
  return found.flat();
}
