import { decodeHTML } from 'entities/decode';
import { isObject, parseJson } from '../../../../base/json.ts';
import { type Block, isUnspaced, lettersOf, MIN_UNSPACED_PROSE, measureBlocks } from '../html/blocks.ts';
import type { PageDescription } from '../html/page-metadata.ts';
import { elementsBelow, HtmlElement, type HtmlPage, parseHtml, textOf } from '../html/tree.ts';
import { FORMULA } from '../math/math.ts';
import { chooseBlocks } from './choose-blocks.ts';

/** The shortest `articleBody` that is an article, not a summary; in characters. */
const MIN_BODY_LENGTH = 400;

/** Marks what is not part of the main text of a page, and returns the element that holds the text. */
export function markMainText(page: HtmlPage, blocks: readonly Block[], description: PageDescription): HtmlElement {
  const scripted = articleInData(page.body, blocks, description) ?? textInData(page);
  if (scripted) {
    measureBlocks(scripted);
    return scripted;
  }
  markClutter(page.body, blocks, chooseBlocks(blocks, description));
  return page.body;
}

/** Marks every element that holds only dropped blocks, and every image beside a dropped block. */
function markClutter(body: HtmlElement, blocks: readonly Block[], kept: readonly boolean[]): void {
  const holding = new Set<HtmlElement>();
  const dropped = new Set<HtmlElement>();
  for (const [at, { element, inline }] of blocks.entries()) {
    if (!kept[at]) {
      dropped.add(element);
      // If its element also holds kept blocks, only its inline elements go; its loose text and formulas stay.
      for (const part of inline) if (part.name !== FORMULA) dropped.add(part);
    } else
      for (let node: HtmlElement | undefined = element; node && !holding.has(node); node = node.parent)
        holding.add(node);
  }
  for (const element of elementsBelow(body)) {
    const { name, blockIndex } = element;
    if (name === 'img') element.isClutter = !kept[blockIndex] || (blockIndex > 0 && !kept[blockIndex - 1]);
    else if (dropped.has(element) && !holding.has(element)) element.isClutter = true;
  }
}

/** The article in structured data, if most of it is not in the page: a script would put it there. */
function articleInData(
  root: HtmlElement,
  blocks: readonly Block[],
  { articleBody }: PageDescription,
): HtmlElement | undefined {
  if (articleBody.length < Math.max(MIN_BODY_LENGTH, root.size.prose)) return undefined;
  const isEscapedTwice = /&lt;\/?(?:p|br|div|h2)\b|&amp;\w+;/i.test(articleBody);
  const article = toBody(isEscapedTwice ? decodeHTML(articleBody) : articleBody);
  return article && isOnPage(textOf(article), blocks) ? undefined : article;
}

/** How many samples of a text are looked up in the page, and their length in letters. */
const SAMPLES = 20;
const SAMPLE_LENGTH = 24;

/** Whether half of a text, by samples of it, is in the blocks of a page. */
function isOnPage(text: string, blocks: readonly Block[]): boolean {
  const letters = lettersOf(text, text.length);
  const pageLetters = blocks.map((block) => lettersOf(block.text, block.text.length)).join('');
  const step = Math.max(1, (letters.length - SAMPLE_LENGTH) / (SAMPLES - 1));
  const samples = Array.from({ length: SAMPLES }, (_, at) =>
    letters.slice(Math.floor(at * step), Math.floor(at * step) + SAMPLE_LENGTH),
  );
  return samples.filter((sample) => pageLetters.includes(sample)).length >= SAMPLES / 2;
}

/** Converts a text or an HTML fragment to an element. */
function toBody(text: string): HtmlElement | undefined {
  if (IS_HTML.test(text)) return parseHtml(text)?.body;
  const body = new HtmlElement('body', {}, undefined);
  for (const line of text.split(/\n+/)) {
    const paragraph = new HtmlElement('p', {}, body);
    paragraph.children.push(decodeHTML(line));
    body.children.push(paragraph);
  }
  return body;
}

const IS_HTML = /<\/?(?:p|br|div|h[1-6]|ul|pre)\b/i;

/** How many values in the data of a page are visited, and how deep. */
const MAX_VALUES = 50_000;
const MAX_DEPTH = 40;
/** How much text of the data is read, in UTF-16 code units. */
const MAX_DATA_TEXT = 1_000_000;
/** Shorter texts are titles and labels, and data with less text in all is not the page's content; in characters. */
const MIN_TEXT = 80;
const MIN_DATA_TEXT = 200;

const NONE: ReadonlySet<string> = new Set();

function isLong(value: unknown): boolean {
  if (typeof value !== 'string' || value.length < MIN_UNSPACED_PROSE) return false;
  return (value.length >= MIN_TEXT && value.split(' ', 9).length > 8) || isUnspaced(value);
}

/** The texts in the data of a page that is nearly empty until its scripts run. */
function textInData({ body: pageBody, data }: HtmlPage): HtmlElement | undefined {
  if (pageBody.size.text >= MIN_BODY_LENGTH) return undefined;
  const texts = new Set<string>();
  let remaining = MAX_VALUES;
  /** `textKeys`: keys that hold a long text in an object of the same list; short values under them are text, too. */
  const visit = (value: unknown, depth: number, isText = false, textKeys: ReadonlySet<string> = NONE): void => {
    remaining -= 1;
    if (remaining < 0 || depth > MAX_DEPTH) return;
    if (typeof value === 'string') {
      if (isText || isLong(value)) texts.add(value);
    } else if (Array.isArray(value)) {
      const keys = value.filter(isObject).flatMap((item) => Object.keys(item).filter((key) => isLong(item[key])));
      for (const item of value) visit(item, depth + 1, false, new Set(keys));
    } else if (isObject(value))
      for (const [key, item] of Object.entries(value)) visit(item, depth + 1, textKeys.has(key));
  };
  for (const text of data) visit(parseJson(text), 0);
  const body = new HtmlElement('body', {}, undefined);
  let read = 0;
  for (const text of texts) {
    read += text.length;
    if (read > MAX_DATA_TEXT) break;
    for (const child of toBody(text)?.children ?? []) body.children.push(child);
  }
  return [...texts].join('').length < Math.max(MIN_DATA_TEXT, pageBody.size.text) ? undefined : body;
}
