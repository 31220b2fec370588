import { isObject, parseJson } from '../../../../base/json.ts';
import { authorsOf } from './authors.ts';
import type { Block } from './blocks.ts';
import { dateIn } from './dates.ts';
import { metaContents } from './meta-contents.ts';
import { closest, elementsBelow, type HtmlElement, type HtmlPage, lineOf, textOf } from './tree.ts';

/** What a page says about itself. */
export interface PageMetadata {
  title: string;
  author?: string;
  published?: string;
  updated?: string;
  /** BCP 47, such as `en` or `pt-BR`. */
  language?: string;
}

/** What is known of a page beside its text. */
export interface AboutPage {
  shown: PageMetadata;
  /** Whether the page says that it is an article. */
  isArticle: boolean;
  /** The text of the article as structured data repeats it; may be empty. */
  articleBody: string;
}

/** Nodes of structured data that describe the page itself. */
const ARTICLE_TYPE = /Article|Posting|WebPage|Report|Recipe|Product|Book|Question|Dataset|Course|Event|Podcast|Video/i;
/** Those that say that its text is an article. */
const PROSE_TYPE = /Article|Posting|Report$|Review$/i;

const MAX_NODES = 300;
/** In characters. */
const LONGEST_BODY = 100_000;

/** Names of meta tags, the surest first. */
const META = {
  title: 'og:title twitter:title citation_title dc.title dcterms.title',
  published:
    'article:published_time og:published_time citation_publication_date citation_date citation_online_date ' +
    'datepublished date dc.date dc.date.issued dcterms.created dcterms.issued dcterms.date parsely-pub-date ' +
    'sailthru.date publish-date publication_date publishdate pubdate',
  updated: 'article:modified_time og:updated_time datemodified last-modified dcterms.modified revised',
  language: 'content-language dc.language dcterms.language language og:locale',
};

/** Title, authors, dates and language from structured data, meta tags and, at last, the page's own elements. */
export function readMetadata(page: HtmlPage, blocks: readonly Block[]): AboutPage {
  const nodes = nodesOf(page.structuredData);
  const data = articleAmong(nodes);
  const elements = elementsBelow(page.body);
  const meta = (names: string) => metaContents(page, names)[0] ?? '';
  const heading = headingOf(elements);
  const title = meta(META.title) || page.title || heading || text(data?.headline) || text(data?.name);
  const language = languageOf(page, data);
  const dates = datesShown(elements, blocks, { title: heading || title, language });
  const published = day(text(data?.datePublished) || meta(META.published), language) || dates.published;
  const updated = day(text(data?.dateModified) || meta(META.updated), language) || dates.updated;
  const author = authorsOf({ page, data, nodes, elements, blocks }).join(', ');
  const prose = nodes.filter((node) => PROSE_TYPE.test(typeOf(node)));
  const body = prose.map((node) => text(node.articleBody)).find((each) => each !== '') ?? '';
  return {
    shown: {
      title: cleanTitle(title, heading),
      ...(author ? { author } : {}),
      ...(published ? { published } : {}),
      ...(updated && updated !== published ? { updated } : {}),
      ...(language ? { language } : {}),
    },
    isArticle: prose.length > 0 || metaContents(page, 'og:type').some((type) => /article|blog/i.test(type)),
    articleBody: body.slice(0, LONGEST_BODY),
  };
}

/** A date as ISO 8601 where it is written so that it can be read in one way only; else as it is. */
function day(written: string, language: string): string {
  return /^\d{4}-\d\d-\d\d/.test(written) ? written : dateIn(written, language) || written;
}

/** Many documentation systems put a sign that links to the heading at its end. */
function headingOf(elements: readonly HtmlElement[]): string {
  return lineOf(elements.find(({ name }) => name === 'h1')).replace(/\s?[#¶§🔗]$/u, '');
}

/** `Heading | Site` becomes `Heading` if the page's own heading says so. */
function cleanTitle(title: string, heading: string): string {
  return heading.length > 3 && title.startsWith(heading) ? heading : title;
}

/** Blocks around the heading in which a page says when it was written, and the longest of them. */
const NEAR_HEADING = 12;
const LONGEST_LINE = 160;

/** What stands before a date that is not the first one. */
const UPDATED =
  /updated|modified|edited|revised|aktualisiert|geändert|mis à jour|modifié|actualizado|atualizado|aggiornato|bijgewerkt|gewijzigd|обновлен|изменен|оновлено|aktualizacj|zaktualizowan|aktualizov|uppdaterad|opdateret|oppdatert|päivitetty|güncelle|frissít|actualizat|ενημέρωση|تحديث|עודכן|अपडेट|อัปเดต|cập nhật|diperbarui|更新|수정/i;

/** The dates that a page shows: in its elements for them, or in words beside its heading, at last at its end. */
function datesShown(
  elements: readonly HtmlElement[],
  blocks: readonly Block[],
  { title, language }: { title: string; language: string },
): { published: string; updated: string } {
  const marked = (name: string) => elements.find(({ attributes }) => attributes.itemprop?.split(/\s+/).includes(name));
  const dateOf = (element: HtmlElement | undefined) =>
    element ? timeOf(element) || element.attribute('content').trim() || dateIn(textOf(element), language) : '';
  // Those of other pages stand beside the text, or in links to them.
  const isElsewhere = ({ name, attributes }: HtmlElement) => name === 'aside' || (name === 'a' && !!attributes.href);
  const all = elements.filter((element) => timeOf(element) !== '');
  const here = all.filter((time) => !closest(time, isElsewhere));
  const times = here.length > 0 ? here : all.filter((time) => !closest(time, ({ name }) => name === 'aside'));
  const isUpdate = (time: HtmlElement) =>
    time.hasClass('updated') ||
    UPDATED.test(
      lineOf(time.parent ?? time)
        .slice(0, 60)
        .split(/\d/, 1)[0] ?? '',
    );
  const first = times.filter((time) => !isUpdate(time) || time.hasClass('published'));
  const own =
    first.find((time) => time.attributes.pubdate !== undefined) ??
    first.find((time) => time.hasClass('published') || time.hasClass('entry-date')) ??
    first.find((time) => closest(time, ({ name }) => name === 'article')) ??
    first[0];
  const said = datesInWords(blocks, { title, language });
  return {
    published: dateOf(marked('datePublished')) || dateOf(own) || said.published,
    updated:
      dateOf(marked('dateModified')) ||
      dateOf(times.find(isUpdate) ?? all.find(isUpdate)) ||
      said.updated ||
      dateOf(elements.find(isRevision)),
  };
}

/** The moment that an element stands for: in an attribute of it, as HTML and microformats have it. */
function timeOf({ name, attributes }: HtmlElement): string {
  const { datetime = '', title = '' } = attributes;
  if (name === 'time' || name === 'relative-time') return datetime.trim();
  return /^(?:abbr|span|a)$/.test(name) && /^\d{4}-\d\d-\d\d[T ]\d\d:/.test(title) ? title : '';
}

/** The day of the last revision, as MkDocs shows it. */
function isRevision(element: HtmlElement): boolean {
  return element.hasClass('git-revision-date-localized-plugin-date');
}

function datesInWords(
  blocks: readonly Block[],
  { title, language }: { title: string; language: string },
): { published: string; updated: string } {
  const at = blocks.findIndex(({ text: line, element }) => element.name === 'h1' || line === title);
  const near = blocks.slice(Math.max(0, at - 4), Math.max(0, at) + NEAR_HEADING);
  const lines = near.map((block) => block.text).filter((line) => line.length <= LONGEST_LINE);
  const isUpdate = (line: string) => UPDATED.test(line);
  const everywhere = blocks.map((block) => block.text).filter((line) => line.length <= LONGEST_LINE && isUpdate(line));
  const first = (among: readonly string[]) =>
    among.map((line) => dateIn(line, language)).find((date) => date !== '') ?? '';
  const behindWord = (line: string) => line.slice(Math.max(0, line.search(UPDATED)));
  return {
    published: first(lines.map((line) => (isUpdate(line) ? line.slice(0, line.search(UPDATED)) : line))),
    updated: first([...lines.filter(isUpdate), ...everywhere].map(behindWord)),
  };
}

function languageOf(page: HtmlPage, data: Record<string, unknown> | undefined): string {
  const given =
    page.root.lang || page.root['xml:lang'] || text(data?.inLanguage) || metaContents(page, META.language)[0] || '';
  const tag = given.trim().replaceAll('_', '-');
  return /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i.test(tag) ? tag : '';
}

function nodesOf(structuredData: readonly string[]): Record<string, unknown>[] {
  const nodes: Record<string, unknown>[] = [];
  const add = (value: unknown, depth: number): void => {
    if (nodes.length >= MAX_NODES || depth > 4) return;
    if (Array.isArray(value)) for (const one of value.slice(0, MAX_NODES)) add(one, depth + 1);
    else if (isObject(value)) {
      nodes.push(value);
      add(value['@graph'], depth + 1);
      add(value.mainEntity, depth + 1);
      add(value.mainEntityOfPage, depth + 1);
    }
  };
  for (const data of structuredData) add(parseJson(data.trim()), 0);
  return nodes;
}

function articleAmong(nodes: readonly Record<string, unknown>[]): Record<string, unknown> | undefined {
  const own = nodes.filter((node) => node.author || node.creator || node.datePublished || node.dateModified);
  return own.find((node) => PROSE_TYPE.test(typeOf(node))) ?? own.find((node) => ARTICLE_TYPE.test(typeOf(node)));
}

function typeOf(node: Record<string, unknown>): string {
  const type = node['@type'];
  return Array.isArray(type) ? type.slice(0, 5).map(String).join(' ') : String(type ?? '');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
