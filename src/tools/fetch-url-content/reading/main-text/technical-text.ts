import type { Block } from '../html/blocks.ts';
import { closest, findElement, type HtmlElement } from '../html/tree.ts';
import { contentOf } from './page-frame.ts';
import type { PageShape } from './page-shape.ts';

/** The least shares of the blocks and of the text with code in them that make a page technical. */
const BLOCKS_SHARE = 0.2;
const TEXT_SHARE = 0.3;
/** From which share of links on a block is navigation. */
const MOSTLY_LINKS = 0.7;

/**
 * The blocks behind the title of a reference or a manual, without lists of links: signatures, parameters and short notes
 * say as much there as sentences. None for an article.
 */
export function technicalText({ blocks, title, main, isArticle }: PageShape): Set<Block> {
  if (main?.name === 'article' || isArticle) return new Set();
  const content = contentOf(blocks, title);
  const coded = [...content].filter(hasCode);
  if (coded.length < content.size * BLOCKS_SHARE || lengthOf(coded) < lengthOf(content) * TEXT_SHARE) return new Set();
  const isText = ({ text, linked }: Block) => linked < text.length * MOSTLY_LINKS;
  return new Set(blocks.filter((block, at) => at > title && content.has(block) && isText(block)));
}

function lengthOf(blocks: Iterable<Block>): number {
  let length = 0;
  for (const { text } of blocks) length += text.length;
  return length;
}

const CODE = /^(?:code|pre|tt|kbd|samp|var)$/;

function hasCode({ element, inline }: Block): boolean {
  const isCode = ({ name }: HtmlElement) => CODE.test(name);
  return closest(element, isCode) !== undefined || inline.some((node) => isCode(node) || findElement(node, isCode));
}
