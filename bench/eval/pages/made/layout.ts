import { type Random, seededRandom } from '../../random.ts';
import { type Article, type PageTruth, truthOf } from './article.ts';
import { type Clutter, makeClutter, piecesOf } from './clutter.ts';
import { escapeHtml } from './markup.ts';
import { type Kinds, writeArticle } from './write-article.ts';

/** How one kind of site publishes an article. */
export interface Layout {
  name: string;
  /** The address of its pages. */
  url: string;
  /** The blocks that such pages have. */
  kinds: Kinds;
  publish(article: Article, around: Around): Published;
}

export interface Around {
  clutter: Clutter;
  random: Random;
}

/** A page and what of it is known besides the article: what the layout adds itself, and which dates and authors it names. */
export interface Published extends Partial<Omit<PageTruth, 'clutter'>> {
  html: string;
  /** The article as the layout publishes it, where it leaves something out. */
  as?: Pick<Article, 'lead' | 'sections'>;
}

/** A page that was made, with what a reader should find on it. */
export interface MadePage {
  name: string;
  layout: string;
  url: string;
  html: string;
  truth: PageTruth;
}

/** The page of `layout` and `seed`: the same each time. */
export function makePage(layout: Layout, seed: number): MadePage {
  const random = seededRandom(seed);
  const article = writeArticle(random, layout.kinds);
  const clutter = makeClutter(random);
  const { html, as = article, ...added } = layout.publish(article, { clutter, random });
  const truth = truthOf(as);
  return {
    name: `${layout.name}-${seed}`,
    layout: layout.name,
    url: layout.url,
    html,
    truth: {
      ...truth,
      headings: [...truth.headings, ...(added.headings ?? [])],
      paragraphs: [...truth.paragraphs, ...(added.paragraphs ?? [])],
      items: [...truth.items, ...(added.items ?? [])],
      links: [...truth.links, ...(added.links ?? [])],
      dates: added.dates ?? [],
      authors: added.authors ?? [],
      // Not every layout has room for all of it.
      clutter: piecesOf(clutter).filter((piece) => html.includes(escapeHtml(piece))),
    },
  };
}
