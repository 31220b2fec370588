import type { HtmlPage } from './tree.ts';

/** The contents of the meta tags with one of these names, in the order of `spacedNames`. */
export function metaContents({ metas }: HtmlPage, spacedNames: string): string[] {
  const names = spacedNames.split(' ');
  const found = names.map((): string[] => []);
  for (const attributes of metas) {
    const content = attributes.content?.trim() ?? '';
    // Skips addresses, which Facebook demands in `article:author`, and unfilled placeholders of templates.
    if (!/[\p{L}\p{N}]/u.test(content) || content.startsWith('http') || content.includes('{{')) continue;
    for (const kind of ['property', 'name', 'itemprop', 'http-equiv']) {
      const at = names.indexOf((attributes[kind] ?? '').toLowerCase());
      if (at >= 0) found[at]?.push(content);
    }
  }
  return found.flat();
}
