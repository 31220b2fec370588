import type { DomDocument, DomElement } from './dom.ts';

/** Never reading text. */
const NOISE = [
  'nav',
  'aside',
  'form',
  'button',
  'input',
  'textarea',
  'dialog',
  'menu',
  '[role="navigation"]',
  '[role="banner"]',
  '[role="contentinfo"]',
  '[role="complementary"]',
  '[role="search"]',
  '[role="dialog"]',
  '[role="menu"]',
  '[role="menubar"]',
  '[role="tablist"]',
  '[role="alert"]',
  '[aria-hidden="true"]',
  '[hidden]',
].join(', ');

/** Names that themes give to what stands around the text. */
const NOISY_NAME =
  /(^|[\s_-])(nav|navbar|navigation|navbox|menu|sidebar|side-bar|breadcrumbs?|crumbs|cookies?|consent|gdpr|banner|masthead|footer|site-header|share|sharing|social|related|recommended|recommendations|trending|newsletter|subscribe|signup|sign-up|promo|promoted|sponsored|advert|adverts|advertisement|ads|ad|toc|table-of-contents|pagination|pager|skip-link|skip|popup|modal|toolbar|edit-link|mw-editsection|widget)($|[\s_-])/i;

/** The top of a page, if it holds neither the page's heading nor much text. */
const TOP_NAME = /^(header|page-?header|top-?bar|top|branding|logo)$/i;

/** Elements whose names are not looked at: they hold the page, or the text itself. */
const TRUSTED = new Set(['BODY', 'MAIN', 'ARTICLE', 'H1', 'PRE', 'CODE', 'TABLE', 'TBODY', 'TR', 'TD', 'TH', 'P']);

const CONTENT = 'h1, h2, h3, p, pre, table, blockquote';

/**
 * Takes out of a page what stands around its text, and returns the element that holds the text: `main`, the only
 * `article`, or the whole body.
 */
export function cleanPage(document: DomDocument): DomElement {
  const { body } = document;
  const root = contentRoot(document) ?? body;
  for (const element of [...root.querySelectorAll(NOISE)]) if (!holdsPage(element, root)) element.remove();
  for (const element of [...root.querySelectorAll('header, footer')]) {
    // Those inside an article may hold its title, author and date.
    if (!element.closest('article') || element.tagName === 'FOOTER') if (!element.querySelector('h1')) element.remove();
  }
  for (const element of [...root.querySelectorAll('[class], [id]')]) {
    const names = `${element.getAttribute('class') ?? ''} ${element.getAttribute('id') ?? ''}`;
    if (TRUSTED.has(element.tagName)) continue;
    if (NOISY_NAME.test(names) && !holdsPage(element, root)) element.remove();
    else if (names.split(/\s+/).some((name) => TOP_NAME.test(name)) && isTop(element)) element.remove();
  }
  for (const element of [...root.querySelectorAll('ul, ol, div, section')]) {
    if (isLinkList(element)) element.remove();
  }
  return root;
}

function contentRoot(document: DomDocument): DomElement | undefined {
  const mains = [...document.querySelectorAll('main, [role="main"]')];
  const [main] = mains;
  if (main && mains.length === 1 && textLength(main) > 200) return main;
  const articles = [...document.querySelectorAll('article')];
  const [article] = articles;
  if (article && articles.length === 1 && textLength(article) > textLength(document.body) * 0.4) return article;
  return undefined;
}

function isTop(element: DomElement): boolean {
  return !element.closest('article') && !element.querySelector('h1, p') && textLength(element) < 300;
}

/** A wrapper that is called `page-with-sidebar` or sits in a form is not what its name says. */
function holdsPage(element: DomElement, root: DomElement): boolean {
  return textLength(element) > textLength(root) * 0.5 && element.querySelector(CONTENT) !== null;
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
