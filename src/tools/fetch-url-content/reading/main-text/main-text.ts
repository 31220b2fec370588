import { isObject, parseJson } from '../../../../base/json.ts';
import { type Block, isUnspaced, MIN_UNSPACED_PROSE, measure } from '../html/blocks.ts';
import type { AboutPage } from '../html/page-metadata.ts';
import { elementsBelow, HtmlElement, type HtmlPage, parseHtml } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { chosenBlocks } from './choose.ts';

/** A repeated text of at least this length is an article, and no summary; in characters. */
const LEAST_BODY = 400;

/** Marks what stands around the text of a page, and returns the element that holds the text. */
export function markMainText(page: HtmlPage, blocks: readonly Block[], about: AboutPage): HtmlElement {
  const repeated = repeatedText(page.body, about) ?? textInData(page);
  if (repeated) {
    measure(repeated);
    return repeated;
  }
  markClutter(page.body, blocks, chosenBlocks(blocks, about));
  return page.body;
}

/** Marks every element that holds blocks, and none that is kept; of images, those between what is not kept. */
function markClutter(body: HtmlElement, blocks: readonly Block[], kept: readonly boolean[]): void {
  const holding = new Set<HtmlElement>();
  const dropped = new Set<HtmlElement>();
  for (const [at, { element, inline }] of blocks.entries()) {
    if (!kept[at]) {
      dropped.add(element);
      // Where it stands in an element with text of the page. Loose text stays there, and its formulas with it.
      for (const part of inline) if (part.name !== FORMULA) dropped.add(part);
    } else
      for (let each: HtmlElement | undefined = element; each && !holding.has(each); each = each.parent)
        holding.add(each);
  }
  for (const element of elementsBelow(body)) {
    const { name, before } = element;
    if (name === 'img') element.isClutter = !kept[before] || (before > 0 && !kept[before - 1]);
    else if (dropped.has(element) && !holding.has(element)) element.isClutter = true;
  }
}

/** The text of the article from structured data, where the page itself gets it from a script. */
function repeatedText(root: HtmlElement, { articleBody }: AboutPage): HtmlElement | undefined {
  if (articleBody.length < Math.max(LEAST_BODY, root.size.prose)) return undefined;
  // Markup that was escaped again is no text.
  if (/&lt;\/?(?:p|br|div|h2)\b/i.test(articleBody)) return undefined;
  return bodyOf(articleBody);
}

/** A text, or the HTML that it is, as an element. */
function bodyOf(text: string): HtmlElement | undefined {
  if (IS_HTML.test(text)) return parseHtml(text)?.body;
  const body = new HtmlElement('body', {}, undefined);
  for (const line of text.split(/\n+/)) {
    const paragraph = new HtmlElement('p', {}, body);
    paragraph.children.push(line);
    body.children.push(paragraph);
  }
  return body;
}

const IS_HTML = /<\/?(?:p|br|div|h[1-6]|ul|pre)\b/i;

/** What is looked at of the data of a page: values, and how deep they lie. */
const MAX_VALUES = 50_000;
const MAX_DEPTH = 40;
/** So much text of the data is read, in UTF-16 code units. */
const MOST_DATA = 1_000_000;
/** Shorter texts are titles and labels, and with less in all a page is made of something else; in characters. */
const LEAST_TEXT = 80;
const LEAST_DATA = 200;

const NONE: ReadonlySet<string> = new Set();

function isLong(value: unknown): boolean {
  if (typeof value !== 'string' || value.length < MIN_UNSPACED_PROSE) return false;
  return (value.length >= LEAST_TEXT && value.split(' ', 9).length > 8) || isUnspaced(value);
}

/** The texts in the data of a page, where it has none of its own before a script has made it. */
function textInData({ body: shown, data }: HtmlPage): HtmlElement | undefined {
  if (shown.size.text >= LEAST_BODY) return undefined;
  const texts = new Set<string>();
  let left = MAX_VALUES;
  /** `beside`: names of what is text in the objects of the same list, of which short ones are headings and items. */
  const visit = (value: unknown, depth: number, isText = false, beside: ReadonlySet<string> = NONE): void => {
    left -= 1;
    if (left < 0 || depth > MAX_DEPTH) return;
    if (typeof value === 'string') {
      if (isText || isLong(value)) texts.add(value);
    } else if (Array.isArray(value)) {
      const names = value.flatMap((one) => (isObject(one) ? Object.keys(one).filter((name) => isLong(one[name])) : []));
      for (const one of value) visit(one, depth + 1, false, new Set(names));
    } else if (isObject(value))
      for (const [name, one] of Object.entries(value)) visit(one, depth + 1, beside.has(name));
  };
  for (const text of data) visit(parseJson(text), 0);
  const body = new HtmlElement('body', {}, undefined);
  let read = 0;
  for (const text of texts) {
    read += text.length;
    if (read > MOST_DATA) break;
    for (const child of bodyOf(text)?.children ?? []) body.children.push(child);
  }
  return [...texts].join('').length < Math.max(LEAST_DATA, shown.size.text) ? undefined : body;
}
