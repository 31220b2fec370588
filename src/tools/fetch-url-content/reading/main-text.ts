import { Readability } from '@mozilla/readability';
import { cleanPage, isSectionOfProse, textLength } from './clean-page.ts';
import { type DomDocument, type DomElement, type MainText, parseHtmlDocument } from './dom.ts';
import { type Block, blocksOf, proseLength } from './prose.ts';
import { pruneArticle } from './prune-article.ts';
import { restoreParts } from './restore-parts.ts';

/** Readability's time grows faster than the page. */
const MAX_TAGS_FOR_READABILITY = 15_000;

/** Contributions to a thread: their authors belong to the text, and Readability drops them. */
const POSTS = ['post', 'comment', 'message', 'reply', 'answer'].map((name) => `.${name}`).join(', ');

/** Generators of manuals and references. */
const DOCUMENTATION_SYSTEMS =
  /sphinx|docutils|docbook|doxygen|mkdocs|docusaurus|gitbook|javadoc|rustdoc|texinfo|makeinfo|texi2|asciidoc|vitepress|vuepress|antora|mdbook|typedoc|latex2html|hevea|tex4ht|latexml|debiandoc|publican/i;

/** Where publishing systems put the text of an article, the surest first. */
const CONTAINERS = [
  '[itemprop="articleBody"]',
  '.article-body',
  '.article__body',
  '.article-content',
  '.articleBody',
  '.story-body',
  '.entry-content',
  '.post-content',
  '.post-body',
  '.content-body',
  '.news-text',
  '.text-content',
  'article',
  'main',
  '[role="main"]',
];

/** An article with less than this share of the page's prose may have missed the text. */
const USUAL_SHARE = 0.4;
/** Prose of at least this length is text; in characters. */
const LEAST_PROSE = 200;

/** What is known of a page besides its tree. */
export interface PageKind {
  tags: number;
  /** The text of the article as structured data repeats it; may be empty. */
  articleBody: string;
  /** Whether the page says that it is an article. */
  isArticle: boolean;
}

/**
 * The main text of a page. A document of many parts (reference, manual, thread) is taken whole without what stands
 * around it; an article is cut out of its page, and what its publisher put into it is taken out.
 */
export function findMainText(document: DomDocument, kind: PageKind): MainText {
  // Readability judges by the same marks that cleaning removes, so it gets the page as it is.
  const untouched = kind.tags > MAX_TAGS_FOR_READABILITY ? undefined : document.body.innerHTML;
  const root = cleanPage(document);
  const whole = blocksOf(root);
  if (isDocumentation(document, root, kind) || isThread(root, whole, kind)) return { root, document };
  const article = untouched === undefined ? container(root) : choose(untouched, { root, whole, kind });
  if (!article || losesStructure(article.root, root)) {
    pruneArticle(root);
    return { root, document };
  }
  restoreParts(article, whole, kind);
  pruneArticle(article.root);
  return article;
}

/**
 * The article as Readability finds it; where that is little of the page's prose, the element that publishing systems
 * put articles in, or what Readability finds in the cleaned page.
 */
function choose(
  html: string,
  page: { root: DomElement; whole: readonly Block[]; kind: PageKind },
): MainText | undefined {
  const all = proseLength(page.whole);
  const usual = readability(html);
  const length = usual ? proseLength(blocksOf(usual.root)) : 0;
  if (usual && length >= USUAL_SHARE * all && !missesBody(usual, page.kind)) return usual;
  const others = [() => container(page.root), () => readability(page.root.innerHTML)];
  for (const find of others) {
    const other = find();
    const found = other ? proseLength(blocksOf(other.root)) : 0;
    if (other && found >= Math.max(LEAST_PROSE, USUAL_SHARE * all) && !missesBody(other, page.kind)) return other;
  }
  return usual && length >= LEAST_PROSE ? usual : undefined;
}

/** Whether an extraction lacks most of the text that the page's own structured data repeats. */
function missesBody(found: MainText, { articleBody }: PageKind): boolean {
  if (articleBody.length < 400) return false;
  const text = letters(found.root.textContent);
  const body = letters(articleBody);
  const samples = Array.from({ length: 12 }, (_, at) => {
    const start = Math.floor((at * (body.length - 40)) / 12);
    return body.slice(start, start + 40);
  });
  return samples.filter((sample) => text.includes(sample)).length < 4;
}

function letters(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, '');
}

/** Pages of references and manuals: their lists of terms, signatures and tables are text, not decoration. */
function isDocumentation(document: DomDocument, root: DomElement, { isArticle }: PageKind): boolean {
  const generator = document.querySelector('meta[name="generator" i]')?.getAttribute('content') ?? '';
  if (DOCUMENTATION_SYSTEMS.test(generator.slice(0, 200))) return true;
  if (isArticle) return false;
  return root.querySelectorAll('pre').length >= 4 || root.querySelectorAll('dl > dd').length >= 10;
}

/** Whether posts hold most of the text. Comments under an article are not the page's text, however many they are. */
function isThread(root: DomElement, whole: readonly Block[], { isArticle }: PageKind): boolean {
  const posts = [...root.querySelectorAll(POSTS)].filter((post) => !post.parentElement?.closest(POSTS));
  if (posts.length < 3) return false;
  const all = proseLength(whole);
  const inPosts = proseLength(posts.flatMap((post) => blocksOf(post)));
  if (inPosts < all * 0.6) return false;
  const comments = posts.filter((post) => /comment/i.test(`${post.className} ${post.parentElement?.className ?? ''}`));
  return comments.length < posts.length / 2 || (!isArticle && all - inPosts < LEAST_PROSE);
}

/** Code and lists of terms that the article lacks. */
function losesStructure(article: DomElement, whole: DomElement): boolean {
  const code = (root: DomElement) => [...root.querySelectorAll('pre')].filter((pre) => textLength(pre) > 20).length;
  const terms = (root: DomElement) => root.querySelectorAll('dl > dd').length;
  return code(article) < code(whole) || (terms(whole) >= 4 && terms(article) < terms(whole) * 0.5);
}

/** The article that Readability finds. It takes the tree apart, hence its own. */
function readability(html: string): MainText | undefined {
  const copy = parseHtmlDocument(wrap(html));
  forgetIds(copy.body);
  const found = new Readability(copy, { charThreshold: 200, keepClasses: true }).parse();
  if (!found?.content) return undefined;
  const document = parseHtmlDocument(wrap(found.content));
  return { root: document.body, document };
}

/**
 * Readability takes `related-work` or `menu` for the name of a part of the theme. Ids of headings, and of sections that
 * are sentences under a heading, name what they are about.
 */
function forgetIds(root: DomElement): void {
  for (const element of root.querySelectorAll('[id]')) {
    const isHeading = /^H[1-6]$/.test(element.tagName);
    const isComments = /comment|respond|disqus/i.test((element.getAttribute('id') ?? '').slice(0, 100));
    if (isHeading || (!isComments && isSectionOfProse(element))) element.removeAttribute('id');
  }
}

function container(cleaned: DomElement): MainText | undefined {
  const document = parseHtmlDocument(wrap(cleaned.innerHTML));
  for (const selector of CONTAINERS) {
    const found = [...document.querySelectorAll(selector)].reduce<DomElement | undefined>(
      (longest, one) => (longest === undefined || textLength(one) > textLength(longest) ? one : longest),
      undefined,
    );
    if (found && textLength(found) > 300) return { root: found, document };
  }
  return undefined;
}

function wrap(body: string): string {
  return `<!doctype html><html><head></head><body>${body}</body></html>`;
}
