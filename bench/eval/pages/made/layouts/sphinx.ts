import type { Layout } from '../layout.ts';
import {
  document,
  escapeHtml,
  highlighted,
  links,
  longDate,
  type Markup,
  PLAIN,
  writeBlocks,
  writeSections,
} from '../markup.ts';

const cells = (row: readonly string[], tag: string, head = '') =>
  row.map((cell) => `<${tag}${head}><p>${escapeHtml(cell)}</p></${tag}>\n`).join('');

const MARKUP: Markup = {
  ...PLAIN,
  section: ({ id }, inner) => `<section id="${id}">\n${inner}</section>\n`,
  heading: ({ level, id, title }) =>
    `<h${level}><a class="toc-backref" href="#toc-${id}" role="doc-backlink">${escapeHtml(title)}</a><a class="headerlink" href="#${id}" title="Link to this heading">¶</a></h${level}>\n`,
  code: ({ language, lines }) =>
    `<div class="highlight-${language} notranslate"><div class="highlight"><pre><span></span>${lines.map((line) => highlighted(line, () => '<span class="n">')).join('\n')}\n</pre></div>\n</div>\n`,
  table: ({ head, rows }) =>
    `<table class="docutils align-default">\n<thead>\n<tr class="row-odd">${cells(head, 'th', ' class="head"')}</tr>\n</thead>\n<tbody>\n${rows.map((row) => `<tr class="row-even">${cells(row, 'td')}</tr>\n`).join('')}</tbody>\n</table>\n`,
  list: ({ ordered, items }) =>
    `<${ordered ? 'ol class="arabic simple"' : 'ul class="simple"'}>\n${items.map((item) => `<li><p>${escapeHtml(item)}</p></li>\n`).join('')}</${ordered ? 'ol' : 'ul'}>\n`,
  figure: ({ alt, caption }) =>
    `<figure class="align-default" id="id-${alt}"><a class="reference internal image-reference" href="_images/${alt}.png"><img alt="${alt}" src="_images/${alt}.png" /></a><figcaption><p><span class="caption-text">${escapeHtml(caption)}</span><a class="headerlink" href="#id-${alt}" title="Link to this image">¶</a></p></figcaption></figure>\n`,
  note: ({ text }) =>
    `<div class="admonition seealso"><p class="admonition-title">See also</p>\n<p>${escapeHtml(text)}</p>\n</div>\n`,
  question: ({ question, answer }) =>
    `<dl class="simple"><dt>${escapeHtml(question)}</dt><dd><p>${escapeHtml(answer)}</p></dd></dl>\n`,
  panels({ panels }, write) {
    const tabs = panels.map(
      ({ label, blocks }, at) =>
        `<input ${at === 0 ? 'checked="checked" ' : ''}id="sd-tab-item-${at}" name="sd-tab-set-0" type="radio">\n<label class="sd-tab-label" for="sd-tab-item-${at}">${label}</label><div class="sd-tab-content docutils">\n${write(blocks)}</div>\n`,
    );
    return `<div class="sd-tab-set docutils">\n${tabs.join('')}</div>\n`;
  },
};

export const SPHINX: Layout = {
  name: 'sphinx',
  url: 'https://project.example.org/en/latest/guide.html',
  kinds: ['code', 'code', 'table', 'list', 'note', 'question', 'panels', 'figure'],
  publish({ title, sections, lead, updated, language }, { clutter }) {
    const contents = sections.map(
      ({ id, title: text }) =>
        `<li><p><a class="reference internal" href="#${id}" id="toc-${id}">${escapeHtml(text)}</a></p></li>\n`,
    );
    const body = `<div class="related" role="navigation" aria-label="Related"><h3>Navigation</h3><ul><li class="right" style="margin-right: 10px"><a href="genindex.html" title="General Index" accesskey="I">index</a></li>${links(clutter.menu.slice(0, 4))}</ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="guide">\n<h1>${escapeHtml(title)}<a class="headerlink" href="#guide" title="Link to this heading">¶</a></h1>
<nav class="contents" id="contents"><p class="topic-title">Contents</p><ul class="simple">${contents.join('')}</ul></nav>
${writeBlocks(lead, MARKUP)}${writeSections(sections, MARKUP)}</section>
<div class="clearer"></div></div></div></div>
<div class="sphinxsidebar" role="navigation" aria-label="Main"><div class="sphinxsidebarwrapper"><h3>Related Topics</h3><ul>${links(clutter.teasers)}</ul><search id="searchbox" role="search"><h3 id="searchlabel">Quick search</h3><div class="searchformwrapper"><form class="search" action="search.html" method="get"><input type="text" name="q"><input type="submit" value="Go"></form></div></search></div></div><div class="clearer"></div></div>
<div class="footer" role="contentinfo">${clutter.footer} Last updated on ${longDate(updated)}. Created using <a href="https://www.sphinx-doc.org/">Sphinx</a> 8.0.2.</div>`;
    return {
      html: document(language, `<title>${escapeHtml(title)} &#8212; Project 3.1 documentation</title>`, body),
      dates: [updated],
    };
  },
};
