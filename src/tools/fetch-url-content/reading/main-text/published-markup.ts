import { type HtmlElement, isHidden } from '../html/tree.ts';

/** What a class or an attribute of a publishing system says of an element, where the system documents it. */
type Verdict = 'text' | 'clutter' | 'votes' | 'code';

/** Classes that belong to one system each: nobody else gives them to something else. */
const CLASSES: ReadonlyMap<string, Verdict> = new Map([
  // MediaWiki: links to change a chapter, boxes that lead to other pages, notes above an article.
  ...named('clutter', 'mw-editsection navbox navbox-styles mw-jump-link printfooter catlinks'),
  ...named('text', 'hatnote Inline-Template'),
  // Stack Exchange: comments, tags, who wrote a post.
  ...named('text', 's-prose comment-copy comment-user post-taglist user-details'),
  ...named('votes', 'js-vote-count'),
  // Discourse, as it shows topics to readers without scripts.
  ...named('text', 'crawler-post-meta'),
  // LaTeXML: names, numbers of items, what a listing is downloaded as.
  ...named('text', 'ltx_personname ltx_bibblock ltx_abstract'),
  ...named('clutter', 'ltx_tag_item ltx_listing_data ltx_page_footer package-alerts'),
  // GitHub: what a repository is for, its licence, its stars, its last release.
  ...named('text', 'markdown-body about-margin'),
  // arXiv: authors, links to the paper, its revisions.
  ...named('text', 'submission-history full-text dateline tablecell'),
  // Forums: what was said, and by whom. Hacker News, Reddit, XenForo, vBulletin, Lemmy.
  ...named(
    'text',
    'titleline score hnuser commtext tagline usertext-body bbWrapper message-name username_container postcontent',
  ),
  // Notes at the end, as Markdown engines and docutils write them.
  ...named('text', 'footnotes footnote-list footnote'),
  // WooCommerce: the number of a product, where it belongs.
  ...named('text', 'product_meta'),
  // VitePress numbers lines beside its code; rustdoc names what can be folded.
  ...named('clutter', 'line-numbers-wrapper line-numbers-rows hideme'),
  // Code without a `pre`: CodeMirror, Monaco, Writerside, LaTeXML, Doxygen, Crayon.
  ...named('code', 'cm-content view-lines code-block ltx_listing fragment crayon-pre'),
  // Substack asks for an address in the middle of a text.
  ...named('clutter', 'subscription-widget-wrap'),
  // Writers of formulas for those who see none.
  ...named('clutter', 'speechify-ignore'),
]);

const TEST_IDS = new Set(['comment-header', 'issue-title', 'issue-body']);

function named(verdict: Verdict, names: string): [string, Verdict][] {
  return names.split(' ').map((name) => [name, verdict]);
}

/** Marks what the markup of a known system says is text or clutter, and tells votes from other numbers. */
export function markPublished(element: HtmlElement): void {
  const { attributes } = element;
  const verdict = verdictOf(element);
  if (verdict === 'clutter' || isDataForMachines(element) || isComment(element)) element.isClutter = true;
  else if (verdict === 'code') markCode(element);
  else if (verdict === 'text' || isPostText(element) || isNote(element)) element.isText = true;
  else if (verdict === 'votes' || attributes.itemprop === 'upvoteCount') {
    element.isText = true;
    const [number] = element.children;
    if (typeof number === 'string' && /^\s*-?\d+\s*$/.test(number)) element.children = ['Votes: ', number.trim()];
  }
}

/** Elements that stand for a `pre` hold lines of words, and nothing that stands apart in them. */
function markCode(element: HtmlElement): void {
  const isLine = (line: HtmlElement) => LINE.test(line.name) && line.elements.every(({ name }) => WORD.test(name));
  if (element.elements.every(isLine)) element.name = 'pre';
}

const LINE = /^(?:div|span|br|a|b|i|code|em|strong)$/;
const WORD = /^(?:span|br|a|b|i|code|em|strong|math|div)$/;

/** DPUB-ARIA: notes; Reddit's names of what it puts where. */
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

/** What a reader wrote under an article, as WordPress lists it. */
function isComment(element: HtmlElement): boolean {
  return (
    element.hasClass('comment') &&
    /(?:^|\s)depth-\d+(?:\s|$)/.test(element.attribute('class')) &&
    /comment-\d+$/.test(element.attribute('id'))
  );
}

/** Structured data of a page that is written as hidden elements: its fields repeat what the page shows. */
function isDataForMachines(element: HtmlElement): boolean {
  const { itemscope, itemtype = '' } = element.attributes;
  if (itemscope === undefined || !/(?:Article|Posting|Page|Product|Organization|Person)$/.test(itemtype)) return false;
  return isHidden(element) && element.elements.every(({ attributes }) => attributes.itemprop !== undefined);
}

/** schema.org: the text of a question, of an answer or of a post in a forum. */
function isPostText({ attributes, parent }: HtmlElement): boolean {
  if (attributes.itemprop !== 'text') return false;
  for (let each = parent; each; each = each.parent) {
    const type = each.attributes.itemtype;
    if (type !== undefined) return /(?:Question|Answer|DiscussionForumPosting|Comment)$/.test(type);
  }
  return false;
}
