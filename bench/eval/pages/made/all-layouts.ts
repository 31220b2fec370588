import type { Layout, MadePage } from './layout.ts';
import { makePage } from './layout.ts';
import { ANSWERS } from './layouts/answers.ts';
import { CHANGELOG } from './layouts/changelog.ts';
import { DISCOURSE } from './layouts/discourse.ts';
import { DOCUSAURUS } from './layouts/docusaurus.ts';
import { GHOST } from './layouts/ghost.ts';
import { GITBOOK } from './layouts/gitbook.ts';
import { GITHUB } from './layouts/github.ts';
import { LATEXML } from './layouts/latexml.ts';
import { MEDIAWIKI } from './layouts/mediawiki.ts';
import { MEDIUM } from './layouts/medium.ts';
import { MKDOCS } from './layouts/mkdocs.ts';
import { NEWS } from './layouts/news.ts';
import { REFERENCE } from './layouts/reference.ts';
import { SHOP } from './layouts/shop.ts';
import { SPHINX } from './layouts/sphinx.ts';
import { WORDPRESS } from './layouts/wordpress.ts';

export const LAYOUTS: readonly Layout[] = [
  DOCUSAURUS,
  SPHINX,
  GITBOOK,
  MKDOCS,
  WORDPRESS,
  GHOST,
  MEDIUM,
  ANSWERS,
  DISCOURSE,
  GITHUB,
  LATEXML,
  MEDIAWIKI,
  NEWS,
  SHOP,
  CHANGELOG,
  REFERENCE,
];

/** Pages of one half are looked at while a reader is made, those of the other only judge it. */
export type Half = 'tuning' | 'judging';

/** The first `count` pages of a half, in each layout in turn. Even seeds are for tuning, odd ones for judging. */
export function makePages(count: number, half: Half): MadePage[] {
  return Array.from({ length: count }, (_, at) => {
    const layout = LAYOUTS[at % LAYOUTS.length];
    if (!layout) throw new RangeError('there is no layout');
    return makePage(layout, 2 * at + (half === 'tuning' ? 0 : 1));
  });
}
