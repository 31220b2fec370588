import { escapeHtml, Prose, type SamplePage, SURROUNDINGS } from './prose.ts';

const { header, sidebar, cookie, footer, scripts } = SURROUNDINGS;

/** A news page as current systems make it: `main`, `article`, structured data. */
export function newsPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Harbour report ${prose.number(100, 999)}`;
  const body = `<!doctype html><html lang="en"><head><title>${title} | Daily Noise</title>
<meta property="og:title" content="${title}">${scripts}
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"WebSite","name":"Daily"},{"@type":"NewsArticle","headline":"x","author":[{"@type":"Person","name":"Ines Vogel"},{"@type":"Person","name":"Tom Hale"}],"datePublished":"2024-05-06T07:08:09+02:00"}]}</script>
</head><body>${header}${cookie}<main><article><header><h1>${title}</h1><p class="byline">By Ines Vogel</p>
<div class="social share"><a href="https://social.test/?u=1">Noiseshare</a></div></header>
${prose.paragraphs(3)}
<figure><img src="/img/harbour.jpg" alt="Harbour at dawn"><figcaption>${escapeHtml(prose.sentence())}</figcaption></figure>
<p>Read <a href="/reports/2023.html?id=7&amp;x=1">the earlier report</a> first. ${escapeHtml(prose.sentence())}</p>
<h2>Background</h2>${prose.paragraphs(2)}<blockquote><p>${escapeHtml(prose.sentence())}</p></blockquote>
<aside class="related"><a href="/x">Noiserelated story</a></aside>
<ul><li>${escapeHtml(prose.sentence())}</li><li>${escapeHtml(prose.sentence())}</li></ul>
<div class="newsletter-signup"><p>Noisenewsletter every morning</p><input type="email"></div>
</article></main>${sidebar}${footer}</body></html>`;
  return {
    name: `news ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title,
    present: [...prose.sentences],
    absent: ['Noise', 'noise'],
    markdown: [
      '[the earlier report](ORIGIN/reports/2023.html?id=7&x=1)',
      '## Background',
      '![Harbour at dawn](ORIGIN/img/harbour.jpg)',
    ],
    author: 'Ines Vogel, Tom Hale',
    published: '2024-05-06T07:08:09+02:00',
  };
}

/** A blog of the older kind: nested `div`s with names, no `main`, unclosed paragraphs. */
export function oldBlogPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Notes on rivers ${prose.number(100, 999)}`;
  const texts = Array.from({ length: 6 }, () => `<p>${escapeHtml(prose.paragraph(5))}`).join('\n');
  const body = `<html><head><title>${title}</title><meta name="author" content="R. Bell"><meta name="date" content="2019-11-02">${scripts}</head>
<body><div id="wrapper"><div id="header"><h2><a href="/">Noiseblog</a></h2><div id="menu"><a href="/">Noisehome</a> | <a href="/about">Noiseabout</a> | <a href="/c">Noisecontact</a> | <a href="/d">Noisearchive</a></div></div>
<div id="container"><div id="content"><div class="post"><h1>${title}</h1><div class="entry">${texts}
<p>More at <a href="../old/rivers.html">the old page</a> and <a href="mailto:bell@rivers.test">by mail</a>.
<h3>Sources</h3><ol><li>${escapeHtml(prose.sentence())}<li>${escapeHtml(prose.sentence())}</ol></div></div></div>
<div id="sidebar"><h3>Noiseblogroll</h3><ul><li><a href="http://x.test">Noisefriend</a></ul></div></div>
<div id="footer">Noisepowered by a blog system</div></div></body></html>`;
  return {
    name: `old blog ${seed}`,
    contentType: 'text/html',
    body,
    title,
    present: [...prose.sentences],
    absent: ['Noise', 'noise'],
    markdown: ['[the old page](ORIGIN/old/rivers.html)', '### Sources', '1.'],
    author: 'R. Bell',
    published: '2019-11-02',
  };
}

/** A paper's page: metadata for citation managers, an abstract, definitions, references with superscripts. */
export function paperPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Heat transfer in layered soils ${prose.number(100, 999)}`;
  const body = `<!doctype html><html><head><title>${title} - Repository</title><meta name="citation_title" content="${title}">
<meta name="citation_author" content="Lund, Karin"><meta name="citation_publication_date" content="2021/04/15">${scripts}</head><body>
<div role="banner"><a href="/">Noiserepository</a></div><div role="search"><form><input name="q"><button>Noisesearch</button></form></div>
<div role="main"><h1>${title}</h1><h2>Abstract</h2><p>${escapeHtml(prose.paragraph(6))} The range was 10<sup>-3</sup> to 10<sup>4</sup> W.</p>
<dl><dt>Sample size</dt><dd>${escapeHtml(prose.sentence())}</dd><dt>Method</dt><dd>${escapeHtml(prose.sentence())}</dd></dl>
<p>Full text: <a href="https://doi.test/10.1000/182">doi:10.1000/182</a></p>${prose.paragraphs(2)}</div>
<div role="complementary"><a href="/s">Noisesimilar</a></div><div role="contentinfo">Noiseterms</div></body></html>`;
  return {
    name: `paper ${seed}`,
    contentType: 'text/html; charset=UTF-8',
    body,
    title,
    present: [...prose.sentences, 'Sample size'],
    absent: ['Noise'],
    markdown: ['[doi:10.1000/182](https://doi.test/10.1000/182)', '## Abstract'],
    author: 'Lund, Karin',
    published: '2021-04-15',
  };
}

/** An encyclopedia's page: contents box, edit links, a data box, references. */
export function wikiPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Lake Ostra ${prose.number(100, 999)}`;
  const edit = '<span class="mw-editsection">[<a href="/edit">Noiseedit</a>]</span>';
  const body = `<!doctype html><html><head><title>${title} - Wikinoise</title></head><body class="mediawiki page">
<div id="mw-navigation"><h2>Noisenavigation</h2><ul><li><a href="/m">Noisemain</a></li></ul></div>
<div id="content" class="mw-body" role="main"><h1 id="firstHeading">${title}</h1><div id="bodyContent"><div id="mw-content-text">
<table class="infobox"><caption>Data</caption><tr><th>Area</th><td>41.5 km²</td></tr><tr><th>Depth</th><td>3–17 m</td></tr></table>
<p>${escapeHtml(prose.paragraph())} It lies in <a href="/wiki/Ostra_(district)" title="Ostra">Ostra district</a>.<sup class="reference"><a href="#cite-1">[1]</a></sup></p>
<div id="toc" class="toc"><h2>Noisecontents</h2><ul><li><a href="#h">Noise 1 History</a></li><li><a href="#g">Noise 2 Geography</a></li></ul></div>
<h2>History${edit}</h2>${prose.paragraphs(3)}<h2>Geography${edit}</h2>${prose.paragraphs(2)}
<div class="navbox"><a href="/1">Noisebox 1</a> <a href="/2">Noisebox 2</a></div></div></div></div>
<div id="footer">Noiselicence</div></body></html>`;
  return {
    name: `wiki ${seed}`,
    contentType: 'text/html; charset=UTF-8',
    body,
    title,
    present: [...prose.sentences],
    absent: ['Noise'],
    markdown: [
      '[Ostra district](ORIGIN/wiki/Ostra_(district))',
      '## History',
      '| Area | 41.5 km² |',
      '| Depth | 3–17 m |',
    ],
  };
}
