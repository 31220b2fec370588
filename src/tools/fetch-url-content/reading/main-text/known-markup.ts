import { type HtmlElement, isHidden } from '../html/tree.ts';

/** What an element is by a class or an attribute of a known publishing system. */
type Verdict = 'text' | 'clutter' | 'votes' | 'code';

/** Classes that belong to one system each; no other system uses them. */
const CLASSES: ReadonlyMap<string, Verdict> = new Map([
  // MediaWiki: links to edit a section, navigation boxes, notes above an article.
  ...named('clutter', 'mw-editsection navbox catlinks'),
  ...named('text', 'hatnote'),
  // Stack Exchange: comments, tags, the author of a post.
  ...named('text', 's-prose comment-copy comment-user post-taglist user-details'),
  ...named('votes', 'js-vote-count'),
  // Discourse topics for readers without scripts.
  ...named('text', 'crawler-post-meta'),
  // LaTeXML: names, item numbers, downloads of listings.
  ...named('text', 'ltx_personname'),
  ...named('clutter', 'ltx_tag_item ltx_tag_note ltx_note_type ltx_listing_data'),
  // GitHub: a repository's description, licence, stars and last release.
  ...named('text', 'markdown-body about-margin'),
  // arXiv: authors, links to the paper, its revisions.
  ...named('text', 'submission-history full-text dateline tablecell'),
  // Forums: posts and their authors. Hacker News, Reddit, XenForo, vBulletin, Lemmy.
  ...named(
    'text',
    'titleline score hnuser commtext tagline usertext-body bbWrapper message-name username_container postcontent',
  ),
  // Footnotes of Markdown engines and docutils.
  ...named('text', 'footnotes footnote-list footnote'),
  // TypeDoc: members, with their signatures.
  ...named('text', 'tsd-panel tsd-panel-group tsd-signature'),
  // WooCommerce: a product's number and categories.
  ...named('text', 'product_meta'),
  // Line numbers beside code in VitePress; labels of folded parts in rustdoc.
  ...named('clutter', 'line-numbers-wrapper line-numbers-rows hideme'),
  // Code outside of `pre`: CodeMirror, Monaco, Writerside, LaTeXML, Doxygen, Crayon.
  ...named('code', 'cm-content view-lines code-block ltx_listing fragment crayon-pre'),
  // Substack's subscription form in the middle of a text.
  ...named('clutter', 'subscription-widget-wrap'),
  // Formulas as spoken text.
  ...named('clutter', 'speechify-ignore'),
]);

const TEST_IDS = new Set(['comment-header', 'issue-title', 'issue-body']);

function named(verdict: Verdict, names: string): [string, Verdict][] {
  return names.split(' ').map((name) => [name, verdict]);
}

/** Marks an element as text or clutter if the markup of a known system says so, and labels votes. */
export function applyKnownMarkup(element: HtmlElement): void {
  const { attributes } = element;
  const verdict = verdictOf(element);
  if (verdict === 'clutter' || isDataForMachines(element) || isComment(element)) element.isClutter = true;
  else if (verdict === 'code') markCode(element);
  else if (verdict === 'text' || isPostText(element) || isNote(element)) element.isMarkedText = true;
  else if (verdict === 'votes' || attributes.itemprop === 'upvoteCount') {
    element.isMarkedText = true;
    const [number] = element.children;
    if (typeof number === 'string' && /^\s*-?\d+\s*$/.test(number)) element.children = ['Votes: ', number.trim()];
  }
}

/** Turns a code element into a `pre` if it holds only lines of inline elements. */
function markCode(element: HtmlElement): void {
  const isLine = (line: HtmlElement) => LINE.test(line.name) && line.elements.every(({ name }) => WORD.test(name));
  if (element.elements.every(isLine)) element.name = 'pre';
}

const LINE = /^(?:div|span|br|a|b|i|code|em|strong)$/;
const WORD = /^(?:span|br|a|b|i|code|em|strong|math|div)$/;

/** Whether an element is a DPUB-ARIA note or the byline of a Reddit comment. */
function isNote({ attributes }: HtmlElement): boolean {
  return /^doc-(?:footnote|endnotes?)$/.test(attributes.role ?? '') || attributes.slot === 'commentMeta';
}

function verdictOf({ attributes }: HtmlElement): Verdict | undefined {
  const names = attributes.class;
  if (names !== undefined) {
    for (const name of names.split(/\s+/)) {
      const verdict = CLASSES.get(name);
      if (verdict) return verdict;
    }
  }
  return TEST_IDS.has(attributes['data-testid'] ?? '') ? 'text' : undefined;
}

/** Whether an element is a reader's comment in WordPress. */
function isComment(element: HtmlElement): boolean {
  return (
    element.hasClass('comment') &&
    /(?:^|\s)depth-\d+(?:\s|$)/.test(element.attribute('class')) &&
    /comment-\d+$/.test(element.attribute('id'))
  );
}

/** Whether an element is hidden structured data: its fields repeat what the page shows. */
function isDataForMachines(element: HtmlElement): boolean {
  const { itemscope, itemtype = '' } = element.attributes;
  if (itemscope === undefined || !/(?:Article|Posting|Page|Product|Organization|Person)$/.test(itemtype)) return false;
  return isHidden(element) && element.elements.every(({ attributes }) => attributes.itemprop !== undefined);
}

/** Whether an element is the text of a question, an answer or a forum post, or a part of a recipe, by schema.org. */
function isPostText({ attributes, parent }: HtmlElement): boolean {
  if (/^(?:recipeIngredient|ingredients|recipeInstructions)$/.test(attributes.itemprop ?? '')) return true;
  if (attributes.itemprop !== 'text') return false;
  for (let node = parent; node; node = node.parent) {
    const type = node.attributes.itemtype;
    if (type !== undefined) return /(?:Question|Answer|DiscussionForumPosting|Comment)$/.test(type);
  }
  return false;
}
