import type { Layout } from '../layout.ts';
import { document, escapeHtml, links, type Markup, PLAIN, writeBlocks, writeSections } from '../markup.ts';
import { personName, sentence } from '../write-article.ts';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, title }) => `<h${level}>${escapeHtml(title)}</h${level}>\n`,
  code: ({ language, lines }) =>
    `<pre class="lang-${language} s-code-block"><code class="hljs language-${language}">${lines.map(escapeHtml).join('\n')}\n</code></pre>\n`,
  table: (block) =>
    `<div class="s-table-container">${PLAIN.table(block).replace('<table>', '<table class="s-table">')}</div>\n`,
};

interface Post {
  id: number;
  html: string;
  author: string;
  day: string;
  votes: number;
  comments: { author: string; text: string }[];
}

/** A question with its answers, and comments under each, as the sites of Stack Exchange show them. */
export const ANSWERS: Layout = {
  name: 'questions-and-answers',
  url: 'https://stackoverflow.com/questions/71230001/a-question',
  kinds: ['code', 'code', 'list', 'table', 'note'],
  publish({ title, sections, lead, published, author, language }, { clutter, random }) {
    const comment = () => ({ author: personName(random), text: sentence(random, language) });
    const half = Math.ceil(sections.length / 2);
    const post = (id: number, html: string, by: string): Post => ({
      id,
      html,
      author: by,
      day: published,
      votes: random.integer(2, 900),
      comments: [comment(), comment()],
    });
    const question = post(71230001, writeBlocks(lead, MARKUP), author);
    const answers = [sections.slice(0, half), sections.slice(half)].map((part, at) =>
      post(71230100 + at, writeSections(part, MARKUP), personName(random)),
    );
    const posts = [question, ...answers];
    const tags = ['basalt-cli', 'tundra-orm', 'quill-parser'];
    const body = `<header class="s-topbar js-top-bar"><div class="s-topbar--container"><a href="/" class="s-topbar--logo">${clutter.site}</a><ol class="s-navigation">${links(clutter.menu.slice(0, 4))}</ol><form id="search" role="search" class="s-topbar--searchbar"><input name="q" type="text" placeholder="Search…"></form></div></header>
<div class="container"><div id="left-sidebar" class="left-sidebar js-pinned-left-sidebar"><nav role="navigation"><ol class="nav-links">${links(clutter.menu.slice(4, 8))}</ol></nav></div>
<div id="content" class="snippet-hidden"><div class="inner-content clearfix" itemprop="mainEntity" itemscope itemtype="https://schema.org/Question"><div id="question-header" class="d-flex"><h1 itemprop="name" class="fs-headline1"><a href="/questions/71230001" class="question-hyperlink">${escapeHtml(title)}</a></h1><a href="/questions/ask" class="s-btn s-btn__filled">Ask Question</a></div>
<div class="d-flex fw-wrap pb8 mb16"><div class="mr16"><span class="fc-black-400">Asked</span> <time itemprop="dateCreated" datetime="${published}T08:31:02">3 years ago</time></div><div class="mr16" title="Viewed 12,345 times">Viewed 12k times</div></div>
<div id="mainbar" role="main" aria-label="question and answers"><div id="question" class="question js-question" data-questionid="71230001">${shown(question, tags)}</div>
<div id="answers"><div id="answers-header"><div class="answers-subheader"><h2 class="mb0" data-answercount="2">2 Answers <span style="display:none;" itemprop="answerCount">2</span></h2></div></div>${answers.map((answer) => `<div id="answer-${answer.id}" class="answer js-answer" data-answerid="${answer.id}" itemprop="suggestedAnswer" itemscope itemtype="https://schema.org/Answer">${shown(answer)}</div>`).join('')}
<h2 class="bottom-notice" data-loc="1">${clutter.promo}</h2><form id="post-form" action="/submit" method="post" class="js-add-answer-component"><h2 class="space" id="your-answer-header">Your Answer</h2><textarea></textarea><p class="privacy-policy-agreement">${clutter.cookies}</p></form></div></div>
<div id="sidebar" class="show-votes" role="complementary" aria-label="sidebar"><div class="module sidebar-related"><h4 id="h-related">Related</h4><div class="related js-gps-related-questions">${clutter.teasers.map((text) => `<div class="spacer"><a href="/q/1" title="Question score"><div class="answer-votes answered-accepted">12</div></a><a href="/questions/1" class="question-hyperlink">${text}</a></div>`).join('')}</div></div><div id="hot-network-questions" class="module tex2jax_ignore"><h4>Hot Network Questions</h4></div></div></div></div></div>
<footer id="footer" class="site-footer js-footer"><div class="site-footer--container"><p class="md:mb24">${clutter.footer}</p></div></footer>`;
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} - Stack Overflow</title><meta property="og:type" content="website"><meta property="og:site_name" content="Stack Overflow">`,
        body,
      ),
      dates: [published],
      authors: posts.flatMap((one) => [one.author, ...one.comments.map((said) => said.author)]),
      paragraphs: [...tags, ...posts.flatMap(({ comments }) => comments.map(({ text }) => text))],
    };
  },
};

function shown({ id, html, author, day, votes, comments }: Post, tags: readonly string[] = []): string {
  const tagList = tags.map(
    (tag) =>
      `<li class="d-inline mr4 js-post-tag-list-item"><a href="/questions/tagged/${tag}" class="s-tag post-tag" rel="tag">${tag}</a></li>`,
  );
  const said = comments.map(
    ({ author: by, text }, at) =>
      `<li id="comment-${id}${at}" class="comment js-comment"><div class="js-comment-actions comment-actions"><div class="comment-score js-comment-score"><span title="number of useful comment votes received" class="cool">${at + 1}</span></div></div><div class="comment-text js-comment-text-and-form"><div class="comment-body js-comment-edit-hide"><span class="comment-copy">${escapeHtml(text)}</span> <div class="d-inline-flex ai-center">&ndash; <a href="/users/1/x" title="1,234 reputation" class="comment-user">${by}</a></div> <span class="comment-date" dir="ltr"><a class="comment-link" href="#c"><span title="${day} 09:00:00Z, License: CC BY-SA 4.0" class="relativetime-clean">Commented ${day}</span></a></span></div></div></li>`,
  );
  return `<div class="post-layout"><div class="votecell post-layout--left"><div class="js-voting-container votes" data-post-id="${id}"><button class="js-vote-up-btn s-btn" aria-label="Up vote"><svg></svg></button><div class="js-vote-count" itemprop="upvoteCount" data-value="${votes}">${votes}</div><button class="js-vote-down-btn s-btn" aria-label="Down vote"><svg></svg></button></div></div>
<div class="postcell post-layout--right"><div class="s-prose js-post-body" itemprop="text">${html}</div>${tagList.length > 0 ? `<div class="mt24 mb12"><div class="post-taglist d-flex gs4"><ul class="ml0 list-ls-none js-post-tag-list-wrapper d-inline">${tagList.join('')}</ul></div></div>` : ''}<div class="mb0"><div class="mt16 d-flex gs8"><div class="js-post-menu pt2" data-post-id="${id}"><a href="/q/${id}" class="js-share-link">Share</a><a href="/posts/${id}/edit">Improve this answer</a><button id="btnFollowPost-${id}" class="s-btn s-btn__link js-follow-post">Follow</button></div><div class="post-signature flex__fl0"><div class="user-info"><div class="user-action-time">answered <span title="${day} 08:40:00Z" class="relativetime">${day} at 8:40</span></div><div class="user-details" itemprop="author" itemscope itemtype="http://schema.org/Person"><a href="/users/1/x">${author}</a><span class="d-none" itemprop="name">${author}</span></div></div></div></div></div></div>
<div class="post-layout--right js-post-comments-component"><div id="comments-${id}" class="comments js-comments-container"><ul class="comments-list js-comments-list">${said.join('')}</ul></div><div id="comments-link-${id}"><a class="js-add-link comments-link dno" title="Use comments to ask for more information">Add a comment</a></div></div></div>`;
}
