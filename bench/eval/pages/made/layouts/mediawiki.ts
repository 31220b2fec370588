import type { Layout } from '../layout.ts';
import {
  document,
  escapeHtml,
  jsonLd,
  links,
  longDate,
  type Markup,
  PLAIN,
  writeBlocks,
  writeSections,
} from '../markup.ts';

const CITE =
  '<sup id="cite_ref-1" class="reference"><a href="#cite_note-1"><span class="cite-bracket">[</span>1<span class="cite-bracket">]</span></a></sup>';

const MARKUP: Markup = {
  ...PLAIN,
  heading: ({ level, id, title }) =>
    `<div class="mw-heading mw-heading${level}"><h${level} id="${id}">${escapeHtml(title)}</h${level}><span class="mw-editsection"><span class="mw-editsection-bracket">[</span><a href="/w/index.php?action=edit" title="Edit section: ${escapeHtml(title)}"><span>edit</span></a><span class="mw-editsection-bracket">]</span></span></div>\n`,
  paragraph: (html) => `<p>${html}${CITE}\n</p>\n`,
  code: ({ language, lines }) =>
    `<div class="mw-highlight mw-highlight-lang-${language} mw-content-ltr" dir="ltr"><pre><span></span>${lines.map((line) => `<span class="linenos" data-line="1"></span>${escapeHtml(line)}`).join('\n')}\n</pre></div>\n`,
  table: (block) => PLAIN.table(block).replace('<table>', '<table class="wikitable sortable">'),
  figure: ({ alt, caption }) =>
    `<figure class="mw-default-size" typeof="mw:File/Thumb"><a href="/wiki/File:${alt}.jpg" class="mw-file-description"><img src="//upload.example.org/${alt}.jpg" decoding="async" width="250" height="188" class="mw-file-element"></a><figcaption>${escapeHtml(caption)}</figcaption></figure>\n`,
  note: ({ text }) => `<blockquote class="templatequote"><p>${escapeHtml(text)}</p></blockquote>\n`,
  question: ({ question, answer }) => `<dl><dt>${escapeHtml(question)}</dt><dd>${escapeHtml(answer)}</dd></dl>\n`,
};

export const MEDIAWIKI: Layout = {
  name: 'mediawiki',
  url: 'https://en.wikipedia.org/wiki/A_subject',
  kinds: ['code', 'table', 'list', 'list', 'note', 'question', 'figure'],
  publish({ title, sections, lead, updated, language }, { clutter, random }) {
    const hatnote = `This article is about the ${random.pick(['river', 'parser', 'comet', 'guild'])}. For the opera in ${random.integer(2, 9)} acts, see the disambiguation page.`;
    const toc = sections.map(
      ({ id, title: text }) =>
        `<li class="vector-toc-list-item vector-toc-level-1"><a class="vector-toc-link" href="#${id}"><div class="vector-toc-text"><span class="vector-toc-numb">1</span><span>${escapeHtml(text)}</span></div></a></li>`,
    );
    const navbox = `<div class="navbox-styles"></div><div role="navigation" class="navbox" aria-labelledby="Subjects"><table class="nowraplinks hlist mw-collapsible autocollapse navbox-inner"><tbody><tr><th scope="col" class="navbox-title" colspan="2"><div id="Subjects">${clutter.promo}</div></th></tr><tr><th scope="row" class="navbox-group">Branches</th><td class="navbox-list-with-group navbox-list navbox-odd hlist"><div><ul>${links(clutter.teasers)}</ul></div></td></tr></tbody></table></div>`;
    const body = `<a class="mw-jump-link" href="#bodyContent">Jump to content</a><div class="vector-header-container"><header class="vector-header mw-header"><nav class="vector-main-menu-landmark" aria-label="Site"><ul class="vector-menu-content-list">${links(clutter.menu.slice(0, 5), (html) => `<li class="mw-list-item">${html}</li>`)}</ul></nav></header></div>
<div class="mw-page-container"><div class="vector-column-start"><nav id="mw-panel-toc" aria-label="Contents" class="vector-toc-landmark"><ul class="vector-toc-contents">${toc.join('')}</ul></nav></div>
<div class="mw-content-container"><main id="content" class="mw-body"><header class="mw-body-header vector-page-titlebar"><h1 id="firstHeading" class="firstHeading mw-first-heading"><span class="mw-page-title-main">${escapeHtml(title)}</span></h1></header><div id="bodyContent" class="vector-body"><div id="siteSub" class="noprint">From Wikipedia, the free encyclopedia</div><div id="contentSub"></div>
<div id="mw-content-text" class="mw-body-content"><div class="mw-content-ltr mw-parser-output" lang="${language}" dir="ltr"><div role="note" class="hatnote navigation-not-searchable">${hatnote}</div>
${writeBlocks(lead, MARKUP)}<p>The origin of the name is disputed.<sup class="noprint Inline-Template Template-Fact" style="white-space:nowrap;">&#91;<i><a href="/wiki/Wikipedia:Citation_needed" title="Wikipedia:Citation needed"><span title="This claim needs references to reliable sources. (May 2024)">citation needed</span></a></i>&#93;</sup></p>
<meta property="mw:PageProp/toc">${writeSections(sections, MARKUP)}${navbox}</div><div class="printfooter" data-nosnippet="">Retrieved from "<a dir="ltr" href="https://en.wikipedia.org/w/index.php?oldid=1">https://en.wikipedia.org/w/index.php?oldid=1</a>"</div></div>
<div id="catlinks" class="catlinks" data-mw="interface"><div id="mw-normal-catlinks" class="mw-normal-catlinks"><a href="/wiki/Help:Category">Categories</a>: <ul>${links(clutter.menu.slice(5))}</ul></div></div></div></main></div>
<footer id="footer" class="mw-footer"><ul id="footer-info"><li id="footer-info-lastmod"> This page was last edited on ${longDate(updated)}, at 12:34<span class="anonymous-show"> (UTC)</span>.</li><li id="footer-info-copyright">${clutter.footer}</li></ul></footer></div>`;
    const data = jsonLd({ '@type': 'Article', name: title, dateModified: `${updated}T12:34:00Z` });
    return {
      html: document(
        language,
        `<title>${escapeHtml(title)} - Wikipedia</title><meta name="generator" content="MediaWiki 1.44.0-wmf.5">${data}`,
        body,
      ),
      dates: [updated],
      paragraphs: [hatnote, 'The origin of the name is disputed. citation needed'],
    };
  },
};
