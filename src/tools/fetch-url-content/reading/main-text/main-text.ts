import { Readability } from '@mozilla/readability';
import { type DomDocument, type DomElement, type MainText, parseHtmlDocument } from '../html/dom.ts';
import { prepareHtml } from '../html/prepare-html.ts';
import { articleAround, beginningOf, missesBeginning, type TextBeginning } from './beginning.ts';
import { cleanPage, isSectionOfProse, textLength } from './clean-page.ts';
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
const CONTAINERS = (
  '[itemprop="articleBody"], .article-body, .article__body, .article-content, .articleBody, .story-body, ' +
  '.entry-content, .post-content, .post-body, .content-body, .news-text, .text-content, article, main, ' +
  '[role="main"]'
).split(', ');

/** An article with less than this share of the page's prose may have missed the text. */
const USUAL_SHARE = 0.4;
/** With less than this share it is something else. */
const LEAST_SHARE = 0.15;
/** Prose of at least this length is text; in characters. */
const LEAST_PROSE = 200;
/** A repeated text of at least this length is an article, and no summary; in characters. */
const LEAST_BODY = 400;

/** What is known of a page besides its tree. */
export interface PageKind {
  tags: number;
  title: string;
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
  const repeated = repeatedText(root, whole, kind);
  if (repeated) return repeated;
  const page = { root, document, whole, kind, beginning: beginningOf(whole, kind.title) };
  const article = untouched === undefined ? container(root) : choose(untouched, page);
  if (!article) {
    pruneArticle(root, kind);
    return { root, document };
  }
  if (article.document !== document) restoreParts(article, whole, kind);
  pruneArticle(article.root, kind);
  return article;
}

/** What is known of a page before its article is. */
interface CleanedPage extends MainText {
  whole: readonly Block[];
  kind: PageKind;
  beginning: TextBeginning | undefined;
}

/** The text of the article from structured data, where the page itself gets it from a script. */
function repeatedText(root: DomElement, whole: readonly Block[], { articleBody }: PageKind): MainText | undefined {
  if (articleBody.length < Math.max(LEAST_BODY, proseLength(whole)) || !missesBody(root, articleBody)) return undefined;
  const isHtml = /<\/?(?:p|br|div)\b/i.test(articleBody);
  const prepared = isHtml ? prepareHtml(articleBody)?.html : wrap('');
  if (prepared === undefined) return undefined;
  const document = parseHtmlDocument(prepared);
  if (isHtml) return { root: document.body, document };
  for (const text of articleBody.split(/\n+/)) {
    const paragraph = document.createElement('p');
    paragraph.textContent = text;
    document.body.append(paragraph);
  }
  return { root: document.body, document };
}

/**
 * The article as Readability finds it; where that is little of the page's prose, or nothing of what stands behind the
 * title, the element around that, or the one that publishing systems put articles in.
 */
function choose(html: string, page: CleanedPage): MainText | undefined {
  const { beginning, kind } = page;
  const all = proseLength(page.whole);
  const judge = (found: MainText | undefined) => {
    if (!found) return undefined;
    const blocks = blocksOf(found.root);
    const length = proseLength(blocks);
    const isWhole = length >= USUAL_SHARE * all && !missesBody(found.root, kind.articleBody);
    const isElse = missesBeginning(blocks, beginning);
    return { found, length, isElse, isRight: isWhole && !isElse };
  };
  const usual = judge(readability(html));
  if (usual?.isRight) return usual.found;
  const around = beginning && usual?.isElse !== false ? articleAround(beginning, page.whole, page.root) : undefined;
  if (around) return { root: around, document: page.document };
  const other = judge(container(page.root));
  if (other?.isRight && other.length >= LEAST_PROSE) return other.found;
  // A short text under many comments is the text.
  const isSure = beginning !== undefined && usual?.isElse === false;
  const least = isSure ? LEAST_PROSE : Math.max(LEAST_PROSE, LEAST_SHARE * all);
  return usual && usual.length >= least ? usual.found : undefined;
}

/** Whether an extraction lacks most of the text that the page's own structured data repeats. */
function missesBody(root: DomElement, articleBody: string): boolean {
  if (articleBody.length < LEAST_BODY) return false;
  const text = letters(root.textContent);
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
