import { type Block, measure } from '../html/blocks.ts';
import type { AboutPage } from '../html/page-metadata.ts';
import { elementsBelow, HtmlElement, type HtmlPage, parseHtml } from '../html/tree.ts';
import { chosenBlocks } from './choose.ts';

/** A repeated text of at least this length is an article, and no summary; in characters. */
const LEAST_BODY = 400;

/** Marks what stands around the text of a page, and returns the element that holds the text. */
export function markMainText(page: HtmlPage, blocks: readonly Block[], about: AboutPage): HtmlElement {
  const repeated = repeatedText(page.body, about);
  if (repeated) return repeated;
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
      // Where it stands in an element with text of the page.
      for (const part of inline) dropped.add(part);
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
  const isHtml = /<\/?(?:p|br|div)\b/i.test(articleBody);
  const body = isHtml ? parseHtml(articleBody)?.body : new HtmlElement('body', {}, undefined);
  if (!body) return undefined;
  if (!isHtml) {
    for (const text of articleBody.split(/\n+/)) {
      const paragraph = new HtmlElement('p', {}, body);
      paragraph.children.push(text);
      body.children.push(paragraph);
    }
  }
  measure(body);
  return body;
}
