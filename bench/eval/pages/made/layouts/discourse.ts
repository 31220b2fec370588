import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, longDate, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';
import { personName } from '../write-article.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<h${level}><a name="p-1-${id}-1" class="anchor" href="#p-1-${id}-1"></a>${escapeHtml(title)}</h${level}>\n`,
  code: ({ language, lines }) =>
    `<pre><code class="lang-${language}">${lines.map(escapeHtml).join('\n')}\n</code></pre>\n`,
  table: (block) => `<div class="md-table">\n${PLAIN.table(block)}</div>\n`,
  note: ({ text }) =>
    `<aside class="quote no-group" data-username="someone" data-post="1"><div class="title"><div class="quote-controls"></div> someone:</div><blockquote><p>${escapeHtml(text)}</p></blockquote></aside>\n`,
};

/** A topic as Discourse gives it to readers without scripts. */
export const DISCOURSE: Layout = {
  name: 'discourse',
  url: 'https://forum.example.org/t/a-topic/4711',
  kinds: ['code', 'list', 'table', 'note', 'question'],
  publish({ title, sections, lead, published, author, language }, { clutter, random }) {
    const half = Math.ceil(sections.length / 2);
    const posts = [
      { by: author, html: writeBlocks(lead, MARKUP) },
      { by: personName(random), html: writeSections(sections.slice(0, half), MARKUP) },
      { by: personName(random), html: writeSections(sections.slice(half), MARKUP) },
    ];
    const shown = posts.map(
      ({ by, html }, at) =>
        `<div id="post_${at + 1}" itemprop="${at === 0 ? 'mainEntity' : 'comment'}" itemscope itemtype="http://schema.org/Comment" class="topic-body crawler-post"><div class="crawler-post-meta"><span class="creator" itemprop="author" itemscope itemtype="http://schema.org/Person"><a itemprop="url" rel="nofollow" href="/u/x"><span itemprop="name">${by}</span></a></span><link itemprop="mainEntityOfPage" href="/t/a-topic/4711"><span class="crawler-post-infos"><time datetime="${published}T11:22:33Z" class="post-time">${longDate(published)}, 11:22am</time><meta itemprop="dateModified" content="${published}T11:22:33Z"><span itemprop="position">${at + 1}</span></span></div><div class="post" itemprop="text">${html}</div><div itemprop="interactionStatistic" itemscope itemtype="http://schema.org/InteractionCounter"><meta itemprop="interactionType" content="http://schema.org/LikeAction"><meta itemprop="userInteractionCount" content="${at}"><span class="post-likes">${at + 1} Likes</span></div></div>`,
    );
    const topic = (text: string) =>
      `<tr class="topic-list-item" id="topic-list-item-9"><td class="main-link" itemprop="itemListElement" itemscope itemtype="http://schema.org/ListItem"><meta itemprop="position" content="1"><span class="link-top-line"><a itemprop="url" href="/t/other/9" class="title raw-link raw-topic-link">${text}</a></span><div class="link-bottom-line"><a href="/c/help/6" class="badge-wrapper"><span class="badge-category-name">${clutter.menu[5]}</span></a></div></td><td class="replies"><span class="posts" title="posts">7</span></td><td class="views"><span class="views" title="views">1207</span></td><td>July 5, 2024</td></tr>`;
    const body = `<header><a href="/">${clutter.site}</a></header><div id="main-outlet" class="wrap" role="main"><div id="topic-title"><h1><a href="/t/a-topic/4711">${escapeHtml(title)}</a></h1><div class="topic-category" itemscope itemtype="http://schema.org/BreadcrumbList"><span itemprop="itemListElement"><a href="/c/help/6" class="badge-wrapper bullet" itemprop="item"><span class="badge-category-bg"></span><span class="badge-category clear-badge"><span class="category-name" itemprop="name">${clutter.menu[4]}</span></span></a></span></div></div>
<div itemscope itemtype="http://schema.org/DiscussionForumPosting"><meta itemprop="headline" content="${escapeHtml(title)}"><link itemprop="url" href="https://forum.example.org/t/a-topic/4711"><meta itemprop="datePublished" content="${published}T11:22:33Z">${shown.join('\n')}</div>
<div id="related-topics" class="more-topics__list" role="complementary" aria-labelledby="related-topics-title"><h3 id="related-topics-title" class="more-topics__list-title">Related topics</h3><div class="topic-list-container" itemscope itemtype="http://schema.org/ItemList"><meta itemprop="itemListOrder" content="http://schema.org/ItemListOrderDescending"><table class="topic-list"><thead><tr><th>Topic</th><th></th><th class="replies">Replies</th><th class="views">Views</th><th>Activity</th></tr></thead><tbody>${clutter.teasers.map(topic).join('')}</tbody></table></div></div></div>
<footer class="container wrap"><nav class="crawler-nav"><ul>${links(clutter.menu.slice(0, 4), (html) => `<li itemscope itemtype="http://schema.org/SiteNavigationElement"><span itemprop="name">${html}</span></li>`)}</ul></nav><p class="powered-by-link">Powered by <a href="https://www.discourse.org">Discourse</a>, best viewed with JavaScript enabled</p></footer>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} - Help - Forum</title><meta name="generator" content="Discourse 3.4.0.beta1">`,
        body,
      ),
      dates: [published],
      authors: posts.map(({ by }) => by),
    };
  },
};
