import type { DomDocument, DomElement } from '../html/dom.ts';
import { blocksOf, proseLength } from './prose.ts';

/** Never reading text. */
const NOISE =
  'nav, button, input, textarea, dialog, menu, [role="navigation"], [role="banner"], [role="contentinfo"], ' +
  '[role="search"], [role="dialog"], [role="alertdialog"], [role="menu"], [role="menubar"], [role="tablist"], ' +
  '[hidden]';

/** Around the text, unless it holds much of it. */
const SIDE = 'aside, form, [role="complementary"], [role="alert"], [aria-hidden="true"]';

/**
 * Classes that themes give to what stands around the text. Whole words of a class: `sidebar-left`, `site_footer`. Ids
 * are not judged: they name what a section is about (`related-work`, `menu`).
 */
const NOISY_CLASS =
  /(?:^|[\s_-])(?:nav|navbar|navigation|navbox|sidebar|side-bar|breadcrumbs?|crumbs|cookies?|consent|gdpr|masthead|footer|site-header|share|sharing|sharedaddy|addtoany|social|socials|newsletter|subscribe|subscription|paywall|signup|sign-up|promo|promoted|promotion|sponsored|advert|adverts|advertisement|advertising|ads|ad|adsbygoogle|teaser-list|pagination|pager|skip-link|skiplink|popup|modal|lightbox|toolbar|edit-link|mw-editsection|disqus|outbrain|taboola|screen-reader-text|visually-hidden|sr-only|noprint|printonly|print-only)(?:$|[\s_-])/i;

/** How a page is laid out, not what it is: `has-sidebar`, `c-sidebar-layout--left`. */
const LAYOUT_NAME =
  /(?:^|\s)[\w-]{0,60}(?:(?:has|with|no|without|layout)[-_]{1,2}[\w-]{0,20}(?:side-?bar|nav|ads?|banner|paywall)|side-?bar[-_]{1,2}layout)[^\s]{0,60}(?=\s|$)/gi;

/** Names that are as often given to the text itself; they count only as a whole class, and for what is no section of prose. */
const DOUBTFUL_CLASS =
  /(?:^|\s)(?:menu|widget|widget-area|sidebar-widget|related|related-(?:posts|articles|content|links|stories|news|topics|items)|relatedposts|jp-relatedposts|recommended|recommendations?|recommended-(?:posts|articles)|trending|most-?(?:read|popular)|popular-posts|more-(?:stories|news|articles)|read-?more|also-read|toc|table-of-contents|toctree|banner|tags|tag-list|post-tags|entry-tags|tags-links|cat-links|post-navigation|posts-navigation|author-bio|author-box|about-author|post-author-box|entry-footer|post-footer|article-footer|post-meta-bottom|comment-respond|comments-area|comments-section)(?:\s|$)/i;

/** Elements whose names are not looked at: they hold the page, or the text itself. */
const TRUSTED = new Set(
  'HTML BODY MAIN ARTICLE H1 H2 H3 H4 H5 H6 PRE CODE TABLE TBODY THEAD TR TD TH P DL DT DD BLOCKQUOTE A EM STRONG B I'.split(
    ' ',
  ),
);

const CONTENT = 'h1, h2, h3, h4, h5, h6, p, pre, table, blockquote, dl';

/**
 * Takes out of a page what stands around its text, and returns the element that holds the text: `main`, the only
 * `article`, or the whole body.
 */
export function cleanPage(document: DomDocument): DomElement {
  const root = contentRoot(document) ?? document.body;
  removeNoise(root);
  return root;
}

/** Takes out of `root` what the marks of themes and roles say is no text. */
export function removeNoise(root: DomElement): void {
  const whole = Math.max(1, textLength(root));
  const holdsPage = (element: DomElement, share: number) => {
    const length = textLength(element);
    return length > whole * share && element.querySelector(CONTENT) !== null;
  };
  for (const element of [...root.querySelectorAll(NOISE)]) if (!holdsPage(element, 0.5)) element.remove();
  for (const element of [...root.querySelectorAll(SIDE)]) if (!holdsPage(element, 0.3)) element.remove();
  for (const element of [...root.querySelectorAll('header, footer')]) {
    // Those inside an article may hold its title, author and date.
    const isAround = !element.closest('article') || element.tagName === 'FOOTER';
    const isIntroduction = element.tagName === 'HEADER' && proseLength(blocksOf(element)) > textLength(element) * 0.5;
    if (isIntroduction) continue;
    if (isAround && !element.querySelector('h1') && !holdsPage(element, 0.3)) element.remove();
  }
  for (const element of [...root.querySelectorAll('[class], [id]')]) {
    if (TRUSTED.has(element.tagName)) continue;
    const names = (element.getAttribute('class') ?? '').slice(0, 500);
    const isNoisy =
      (NOISY_CLASS.test(names.replace(LAYOUT_NAME, ' ')) || isSideById(element)) &&
      !holdsPage(element, 0.5) &&
      !isSectionOfProse(element);
    const isDoubtful = !isNoisy && DOUBTFUL_CLASS.test(names) && !holdsPage(element, 0.3) && !isSectionOfProse(element);
    if (isNoisy || isDoubtful) element.remove();
  }
  for (const element of [...root.querySelectorAll('ul, ol, div, section')]) {
    if (isLinkList(element)) element.remove();
  }
}

function contentRoot(document: DomDocument): DomElement | undefined {
  const mains = [...document.querySelectorAll('main, [role="main"]')];
  const [main] = mains;
  if (main && mains.length === 1 && textLength(main) > Math.max(200, textLength(document.body) * 0.25)) return main;
  const articles = [...document.querySelectorAll('article')];
  const [article] = articles;
  if (article && articles.length === 1 && textLength(article) > textLength(document.body) * 0.4) return article;
  return undefined;
}

/** Links under an id that only the frame of a page has. Ids say nothing of what has sentences. */
function isSideById(element: DomElement): boolean {
  const id = element.getAttribute('id') ?? '';
  if (
    !/^(?:(?:left|right|main|page|site)-?)?(?:side-?bar|nav-?bar|navigation|breadcrumbs?|masthead|cookie-\w{1,20}|footer)$/i.test(
      id.slice(0, 60),
    )
  )
    return false;
  const blocks = blocksOf(element);
  const linked = blocks.reduce((sum, block) => sum + block.linked, 0);
  return proseLength(blocks) === 0 && (linked >= textLength(element) * 0.5 || textLength(element) < 60);
}

/** A section of the text that has a name like that of a part of the theme: sentences under a heading of its own. */
export function isSectionOfProse(element: DomElement): boolean {
  return (
    element.querySelector('h1, h2, h3, h4, pre') !== null && proseLength(blocksOf(element)) > textLength(element) * 0.6
  );
}

/** Many short links and little else: a menu without the name of one. Lists with sentences in them are kept. */
function isLinkList(element: DomElement): boolean {
  if (element.querySelector(CONTENT)) return false;
  const links = [...element.querySelectorAll('a')];
  if (links.length < 4) return false;
  const linked = links.reduce((sum, link) => sum + textLength(link), 0);
  const all = textLength(element);
  return linked > all * 0.85 && linked / links.length < 30;
}

/** The length of an element's text without runs of white space. */
export function textLength(element: DomElement): number {
  return element.textContent.replace(/\s+/g, ' ').trim().length;
}
