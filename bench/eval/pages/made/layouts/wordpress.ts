import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, longDate, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, title }) => `<h${level} class="wp-block-heading">${escapeHtml(title)}</h${level}>\n`,
  code: ({ lines }) => `<pre class="wp-block-code"><code>${lines.map(escapeHtml).join('\n')}</code></pre>\n`,
  table: (block) =>
    `<figure class="wp-block-table">${PLAIN.table(block).replace('<table>', '<table class="has-fixed-layout">')}</figure>\n`,
  // Half of the sites still show the caption as the classic editor wrote it.
  figure: ({ alt, caption }) =>
    alt.length % 2 === 0
      ? `<div id="attachment_812" style="width: 650px" class="wp-caption aligncenter"><img aria-describedby="caption-attachment-812" src="/wp-content/uploads/${alt}.jpg" alt="${alt}" width="640" height="360" class="size-large wp-image-812"><p id="caption-attachment-812" class="wp-caption-text">${escapeHtml(caption)}</p></div>\n`
      : `<figure class="wp-block-image size-large"><img src="/wp-content/uploads/${alt}.jpg" alt="${alt}" class="wp-image-813"><figcaption class="wp-element-caption">${escapeHtml(caption)}</figcaption></figure>\n`,
  note: ({ text }) =>
    `<blockquote class="wp-block-quote is-layout-flow wp-block-quote-is-layout-flow"><p>${escapeHtml(text)}</p></blockquote>\n`,
  question: ({ question, answer }) =>
    `<div class="schema-faq wp-block-yoast-faq-block"><div class="schema-faq-section" id="faq-question-1"><strong class="schema-faq-question">${escapeHtml(question)}</strong> <p class="schema-faq-answer">${escapeHtml(answer)}</p> </div> </div>\n`,
};

export const WORDPRESS: Layout = {
  name: 'wordpress',
  url: 'https://blog.example.com/2021/03/post/',
  kinds: ['code', 'table', 'list', 'note', 'question', 'figure', 'figure'],
  publish({ title, sections, lead, published, updated, author, language }, { clutter }) {
    const body = `<div id="page" class="site"><a class="skip-link screen-reader-text" href="#content">Skip to content</a><header id="masthead" class="site-header"><p class="site-title"><a href="/" rel="home">${clutter.site}</a></p><nav id="site-navigation" class="main-navigation"><ul id="primary-menu" class="menu">${links(clutter.menu.slice(0, 5), (html) => `<li class="menu-item menu-item-type-post_type">${html}</li>`)}</ul></nav></header>
<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main"><article id="post-812" class="post-812 post type-post status-publish format-standard hentry category-uncategorized tag-share">
<header class="entry-header"><h1 class="entry-title">${escapeHtml(title)}</h1><div class="entry-meta"><span class="posted-on">Posted on <a href="#" rel="bookmark"><time class="entry-date published" datetime="${published}T08:00:00+00:00">${longDate(published)}</time><time class="updated" datetime="${updated}T08:00:00+00:00">${longDate(updated)}</time></a></span><span class="byline"> by <span class="author vcard"><a class="url fn n" href="/author/x/">${author}</a></span></span></div></header>
<div class="entry-content">${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}
<div class="sharedaddy sd-sharing-enabled"><div class="robots-nocontent sd-block sd-social sd-sharing"><h3 class="sd-title">Share this:</h3><div class="sd-content"><ul><li class="share-facebook"><a rel="nofollow noopener" href="?share=facebook"><span>Click to share on Facebook</span></a></li></ul></div></div></div>
<div id="jp-relatedposts" class="jp-relatedposts"><h3 class="jp-relatedposts-headline"><em>Related</em></h3><div class="jp-relatedposts-items">${links(clutter.teasers.slice(0, 3), (html) => `<div class="jp-relatedposts-post"><h4 class="jp-relatedposts-post-title">${html}</h4></div>`)}</div></div></div>
<footer class="entry-footer"><span class="cat-links">Posted in <a href="/category/x" rel="category tag">Uncategorized</a></span><span class="tags-links">Tagged ${links(clutter.menu.slice(5, 7), (html) => html)}</span></footer></article>
<nav class="navigation post-navigation" aria-label="Posts"><h2 class="screen-reader-text">Post navigation</h2><div class="nav-links"><div class="nav-previous">${links(clutter.teasers.slice(3, 4), (html) => html)}</div></div></nav>
<div id="comments" class="comments-area"><div id="respond" class="comment-respond"><h3 id="reply-title" class="comment-reply-title">Leave a Reply</h3><form action="/wp-comments-post.php" method="post" id="commentform" class="comment-form"><p class="comment-notes"><span id="email-notes">Your email address will not be published.</span></p><p class="comment-form-comment"><label for="comment">Comment</label><textarea id="comment" name="comment"></textarea></p><input name="submit" type="submit" value="Post Comment"></form></div></div></main></div>
<aside id="secondary" class="widget-area"><section id="recent-posts-2" class="widget widget_recent_entries"><h2 class="widget-title">Recent Posts</h2><ul>${links(clutter.teasers.slice(4))}</ul></section><section id="text-3" class="widget widget_text"><h2 class="widget-title">Newsletter</h2><div class="textwidget"><p>${clutter.newsletter}</p><form><input type="email"></form></div></section></aside></div>
<footer id="colophon" class="site-footer"><div class="site-info">${clutter.footer} <a href="https://wordpress.org/">Proudly powered by WordPress</a></div></footer></div>`;
    const head = `<title>${escapeHtml(title)} &#8211; ${clutter.site}</title><meta name="generator" content="WordPress 6.6.2">`;
    return { html: document(language, head, body), dates: [published, updated], authors: [author] };
  },
};
