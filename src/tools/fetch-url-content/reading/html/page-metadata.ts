import { decodeHTML } from 'entities/decode';
import { isObject, parseJson, scalarText } from '../../../../base/json.ts';
import { stripMarkup } from '../../../text/strip-markup.ts';
import type { ParsedDocument } from '../../parsing/parse-job.ts';
import { authorsOf } from './authors.ts';
import { type Block, lettersOf } from './blocks.ts';
import { dateIn } from './dates.ts';
import { metaContents } from './meta-contents.ts';
import { closest, elementsBelow, type HtmlElement, type HtmlPage, lineOf, textOf } from './tree.ts';

/** What a page says about itself. */
export type PageMetadata = Pick<ParsedDocument, 'title' | 'author' | 'published' | 'updated' | 'language'>;

/** What is known about a page besides its text. */
export interface PageDescription {
  metadata: PageMetadata;
  isArticle: boolean;
  /** The text of the article in structured data; may be empty. */
  articleBody: string;
  /** What its meta tags say it is about; may be empty. */
  summary: string;
  /** Other texts in structured data that the page shows: ingredients, steps, answers, entries of a live blog. */
  texts: readonly string[];
}

/** Types of nodes in structured data that describe the page itself. */
const ARTICLE_TYPE = /Article|Posting|WebPage|Report|Recipe|Product|Book|Question|Dataset|Course|Event|Podcast|Video/i;
const PROSE_TYPE = /Article|Posting|Report$|Review$/i;

const MAX_NODES = 300;
/** How much of `articleBody` is kept, in characters. */
const MAX_BODY_LENGTH = 100_000;

/** Names of meta tags, the most reliable first. */
const META = {
  title: 'og:title twitter:title citation_title dc.title dcterms.title',
  published:
    'article:published_time og:published_time citation_publication_date citation_date citation_online_date ' +
    'datepublished date dc.date dc.date.issued dcterms.created dcterms.issued dcterms.date parsely-pub-date ' +
    'sailthru.date publish-date publication_date publishdate pubdate',
  updated: 'article:modified_time og:updated_time datemodified last-modified dcterms.modified revised',
  summary: 'og:description description twitter:description',
  language: 'content-language dc.language dcterms.language language og:locale',
};

/** Reads title, authors, dates and language from structured data, meta tags and, failing these, the page's elements. */
export function readMetadata(page: HtmlPage, blocks: readonly Block[], url: string): PageDescription {
  const structured = page.structuredData.map((data) => parseJson(data.trim()));
  const nodes = nodesOf(structured);
  const data = articleAmong(nodes);
  const elements = elementsBelow(page.body);
  const meta = (names: string) => metaContents(page, names)[0] ?? '';
  const heading = headingOf(elements);
  const title = meta(META.title) || page.title || heading || text(data?.headline) || text(data?.name);
  const language = languageOf(page, data);
  const dates = visibleDates(elements, blocks, { title: heading || title, language });
  const published =
    isoDate(text(data?.datePublished) || meta(META.published), language) || dates.published || dateInAddress(url);
  const updated = isoDate(text(data?.dateModified) || meta(META.updated), language) || dates.updated;
  const author = authorsOf({ page, data, nodes, elements, blocks }).join(', ');
  const prose = nodes.filter((node) => PROSE_TYPE.test(typeOf(node)));
  const body = prose.map((node) => text(node.articleBody)).find((articleBody) => articleBody !== '') ?? '';
  return {
    metadata: { title: cleanTitle(title, heading), author, published, updated, language },
    isArticle: prose.length > 0 || metaContents(page, 'og:type').some((type) => /article|blog/i.test(type)),
    articleBody: body.slice(0, MAX_BODY_LENGTH),
    summary: metaContents(page, META.summary).join(' '),
    texts: textsIn(structured),
  };
}

/** An unambiguous date as ISO 8601 with dashes; any other unchanged. */
function isoDate(written: string, language: string): string {
  // The zero of a database: a page without a date.
  if (/^-?000\d-|^1970-01-01T00:00:00(?!\.\d*[1-9])/.test(written)) return '';
  const dashed = written
    .replace(/^(\d{4})(\d\d)(\d\d)(?=T|$)/, '$1-$2-$3')
    .replace(/T(\d\d)(\d\d)(\d\d)(?!\d)/, 'T$1:$2:$3');
  return /^\d{4}-\d\d-\d\d/.test(dashed) ? dashed : dateIn(written, language) || written;
}

/** The date in an address such as `/2025/03/01/title`; empty if it has none. */
function dateInAddress(url: string): string {
  const path = URL.parse(url)?.pathname ?? '';
  return /\/((?:19|20)\d\d\/[01]\d\/[0-3]\d)(?:\/|$)/.exec(path)?.[1]?.replaceAll('/', '-') ?? '';
}

/** The first heading, without the link sign that many documentation systems append. */
function headingOf(elements: readonly HtmlElement[]): string {
  return lineOf(elements.find(({ name }) => name === 'h1')).replace(/\s?[#¶§🔗]$/u, '');
}

/** Takes `Heading` for `Heading | Site` or `Head<br>ing` if that is the page's own heading, and undoes a second escaping. */
function cleanTitle(title: string, heading: string): string {
  if (heading.length > 3 && title.startsWith(heading)) return heading;
  const letters = (line: string) => lettersOf(line, line.length);
  const isHeading = heading.length > 3 && title.includes('<') && letters(stripMarkup(title)) === letters(heading);
  return isHeading ? heading : title.replace(/&(?:amp|quot|apos|#\d{1,6});/g, (reference) => decodeHTML(reference));
}

/** How many blocks after the heading are searched for dates, and the longest line that is. */
const NEAR_HEADING = 12;
const MAX_LINE = 160;

/** Words before the date of an update. */
const UPDATED =
  /updated|modified|edited|revised|aktualisiert|geändert|mis à jour|modifié|actualizado|atualizado|aggiornato|bijgewerkt|gewijzigd|обновлен|изменен|оновлено|aktualizacj|zaktualizowan|aktualizov|uppdaterad|opdateret|oppdatert|päivitetty|güncelle|frissít|actualizat|ενημέρωση|تحديث|עודכן|अपडेट|อัปเดต|cập nhật|diperbarui|更新|수정/i;

/** The dates in the elements of a page that mark them, else in the text near its heading, else anywhere. */
function visibleDates(
  elements: readonly HtmlElement[],
  blocks: readonly Block[],
  { title, language }: { title: string; language: string },
): { published: string; updated: string } {
  const marked = (name: string) => elements.find(({ attributes }) => attributes.itemprop?.split(/\s+/).includes(name));
  const dateOf = (element: HtmlElement | undefined) =>
    element ? timeOf(element) || element.attribute('content').trim() || dateIn(textOf(element), language) : '';
  // Dates of other pages are in asides or in links to those pages.
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
  const dated = times.filter((time) => !isUpdate(time) || time.hasClass('published'));
  const inText = datesInText(blocks, { title, language });
  return {
    published: dateOf(marked('datePublished')) || dateOf(dated[0]) || inText.published,
    updated:
      dateOf(marked('dateModified')) ||
      dateOf(times.find(isUpdate) ?? all.find(isUpdate)) ||
      inText.updated ||
      dateOf(elements.find(isRevision)),
  };
}

/** The time in an attribute of an element, as HTML and microformats define it; empty if it has none. */
function timeOf({ name, attributes }: HtmlElement): string {
  const { datetime = '', title = '' } = attributes;
  if (name === 'time' || name === 'relative-time') return datetime.trim();
  return /^(?:abbr|span|a)$/.test(name) && /^\d{4}-\d\d-\d\d[T ]\d\d:/.test(title) ? title : '';
}

/** Whether an element is the date of the last revision that MkDocs shows. */
function isRevision(element: HtmlElement): boolean {
  return element.hasClass('git-revision-date-localized-plugin-date');
}

function datesInText(
  blocks: readonly Block[],
  { title, language }: { title: string; language: string },
): { published: string; updated: string } {
  const heading = blocks.findIndex(({ text: line, element }) => element.name === 'h1' || line === title);
  const near = blocks.slice(Math.max(0, heading - 4), Math.max(0, heading) + NEAR_HEADING);
  const lines = near.map((block) => block.text).filter((line) => line.length <= MAX_LINE);
  const isUpdate = (line: string) => UPDATED.test(line);
  const everywhere = blocks.map((block) => block.text).filter((line) => line.length <= MAX_LINE && isUpdate(line));
  const first = (among: readonly string[]) =>
    among.map((line) => dateIn(line, language)).find((date) => date !== '') ?? '';
  const fromUpdateWord = (line: string) => line.slice(Math.max(0, line.search(UPDATED)));
  return {
    published: first(lines.map((line) => (isUpdate(line) ? line.slice(0, line.search(UPDATED)) : line))),
    updated: first([...lines.filter(isUpdate), ...everywhere].map(fromUpdateWord)),
  };
}

function languageOf(page: HtmlPage, data: Record<string, unknown> | undefined): string {
  const language =
    page.root.lang || page.root['xml:lang'] || text(data?.inLanguage) || metaContents(page, META.language)[0] || '';
  const tag = language.trim().replaceAll('_', '-');
  return /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i.test(tag) ? tag : '';
}

/** Names of the texts in structured data that stand on the page, by the type of their node. */
const TEXTS: readonly [type: RegExp, name: RegExp][] = [
  [/^Recipe$/, /^(?:recipeIngredient|ingredients|recipeInstructions)$/],
  [/^(?:Question|HowToStep|HowToSection|HowToDirection|HowToTip)$/, /^(?:name|text)$/],
  [/^Answer$/, /^text$/],
  [/^BlogPosting$/, /^(?:headline|articleBody)$/],
];
/** How much of these texts is kept, in characters. */
const MAX_TEXTS = 500_000;

function textsIn(structured: readonly unknown[]): string[] {
  const texts: string[] = [];
  let remaining = MAX_TEXTS;
  const add = (value: unknown, isText: boolean, depth: number): void => {
    if (remaining <= 0 || depth > 10) return;
    if (typeof value === 'string') {
      if (!isText) return;
      texts.push(value.slice(0, remaining));
      remaining -= value.length + 1;
    } else if (Array.isArray(value)) for (const item of value) add(item, isText, depth + 1);
    else if (isObject(value)) {
      const names = TEXTS.find(([type]) => type.test(typeOf(value)))?.[1];
      for (const [name, inner] of Object.entries(value)) add(inner, names?.test(name) === true, depth + 1);
    }
  };
  add(structured, false, -1);
  return texts;
}

function nodesOf(structured: readonly unknown[]): Record<string, unknown>[] {
  const nodes: Record<string, unknown>[] = [];
  const add = (value: unknown, depth: number): void => {
    if (nodes.length >= MAX_NODES || depth > 4) return;
    if (Array.isArray(value)) for (const item of value.slice(0, MAX_NODES)) add(item, depth + 1);
    else if (isObject(value)) {
      nodes.push(value);
      add(value['@graph'], depth + 1);
      add(value.mainEntity, depth + 1);
      add(value.mainEntityOfPage, depth + 1);
    }
  };
  for (const value of structured) add(value, 0);
  return nodes;
}

function articleAmong(nodes: readonly Record<string, unknown>[]): Record<string, unknown> | undefined {
  const described = nodes.filter((node) => node.author || node.creator || node.datePublished || node.dateModified);
  const ofType = (type: RegExp) => described.find((node) => type.test(typeOf(node)));
  return ofType(PROSE_TYPE) ?? ofType(ARTICLE_TYPE);
}

function typeOf(node: Record<string, unknown>): string {
  const type = node['@type'];
  return Array.isArray(type) ? type.slice(0, 5).map(scalarText).join(' ') : scalarText(type ?? '');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
