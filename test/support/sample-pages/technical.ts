import { escapeHtml, Prose, type SamplePage, SURROUNDINGS } from './prose.ts';

const { header, footer, scripts } = SURROUNDINGS;

const CODE = `async function* follow(run, { after = 0 } = {}) {
  for (const frame of run.frames) {
    if (frame.seq > after && frame.kind !== "x") yield frame; // a < b && c > d
  }
}`;

/** Documentation with a sidebar, a contents list at the right, code with highlighting marks, copy buttons. */
export function docsPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Following runs ${prose.number(100, 999)}`;
  const highlighted = escapeHtml(CODE).replaceAll('yield', '<span class="token keyword">yield</span>');
  const body = `<!doctype html><html><head><title>${title} | Noisedocs</title>${scripts}</head><body>${header}
<div class="docs-wrapper"><aside class="theme-doc-sidebar-container"><ul class="menu__list"><li><a href="/docs/1">Noiseintro</a></li><li><a href="/docs/2">Noiseinstall</a></li></ul></aside>
<main><div class="container"><nav class="breadcrumbs"><a href="/docs">Noisecrumb</a></nav><article><div class="markdown">
<h1>${title}<a class="hash-link" href="#top">#</a></h1><p>${escapeHtml(prose.paragraph())} Set <code>max_tool_calls</code> to <code>*</code> for all.</p>
<h2 id="usage">Usage<a class="hash-link" href="#usage">¶</a></h2>
<div class="language-js codeBlock"><div><pre class="prism language-js"><code>${highlighted}
</code></pre><button>Noisecopy</button></div></div>
${prose.paragraphs(2)}<h2>Options</h2><table><thead><tr><th>Name</th><th>Default</th><th>Meaning</th></tr></thead><tbody>
<tr><td><code>after</code></td><td>0</td><td>Skips events up to <a href="../events#seq">this number</a></td></tr><tr><td><code>a|b</code></td><td>[0, 1)</td><td>${escapeHtml(prose.sentence())}</td></tr></tbody></table>
<ol><li>${escapeHtml(prose.sentence())}<ul><li>${escapeHtml(prose.sentence())}</li></ul></li><li>${escapeHtml(prose.sentence())}</li></ol>
<p>${escapeHtml(prose.paragraph())}</p></div></article><nav class="pagination-nav"><a href="/p">Noiseprevious</a><a href="/n">Noisenext</a></nav></div>
<div class="table-of-contents"><ul><li><a href="#usage">Noisetoc</a></li></ul></div></main></div>${footer}</body></html>`;
  return {
    name: `docs ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title,
    present: [...prose.sentences, '`max_tool_calls`', '`*`'],
    absent: ['Noise', 'noise'],
    markdown: [
      `\`\`\`js\n${CODE}\n\`\`\``,
      '## Usage\n',
      '| Name | Default | Meaning |',
      '| `after` | 0 | Skips events up to [this number](ORIGIN/events#seq) |',
      '| `a\\|b` | [0, 1) |',
    ],
  };
}

/** Documentation of the older kind: definition lists, `highlight-` wrappers, note boxes. */
export function referencePage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `module files ${prose.number(100, 999)}`;
  const body = `<!DOCTYPE html><html><head><title>${title} — Noise 3.1 documentation</title>${scripts}</head><body>
<div class="related" role="navigation"><ul><li><a href="genindex.html">Noiseindex</a></li><li><a href="next.html">Noisenext</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main"><section id="files"><h1>${title}<a class="headerlink" href="#files">¶</a></h1>
${prose.paragraphs(2)}<dl class="function"><dt id="f.open"><code>files.open</code>(<em>path</em>, <em>mode='r'</em>)</dt><dd><p>${escapeHtml(prose.sentence())}</p></dd></dl>
<div class="admonition note"><p class="admonition-title">Note</p><p>${escapeHtml(prose.sentence())}</p></div>
<div class="highlight-source-python notranslate"><div class="highlight"><pre><span></span><span class="kn">import</span> <span class="nn">files</span>
<span class="k">with</span> files.open("a.txt") <span class="k">as</span> f:
    print(f.read())
</pre></div></div>${prose.paragraphs(2)}</section></div></div></div>
<div class="sphinxsidebar" role="navigation"><h3><a href="index.html">Noisetable of contents</a></h3></div></div><div class="footer" role="contentinfo">Noisecopyright</div></body></html>`;
  return {
    name: `reference ${seed}`,
    contentType: 'text/html',
    body,
    title,
    present: [...prose.sentences, '`files.open`'],
    absent: ['Noise'],
    markdown: ['import files\nwith files.open("a.txt") as f:\n    print(f.read())'],
  };
}

/** A page of tables: spans, row heads, totals, a caption, cells with links and lists. */
export function tablePage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Harvest by region ${prose.number(100, 999)}`;
  const regions = ['North', 'South', 'East', 'West'].map((region) => ({
    region,
    low: prose.number(10, 40),
    high: prose.number(50, 90),
    share: prose.number(1, 99),
  }));
  const rows = regions.map(
    ({ region, low, high, share }) =>
      `<tr><th scope="row"><a href="/r/${region}">${region}</a></th><td>${low}–${high}</td><td>${share}.5&nbsp;%</td></tr>`,
  );
  const body = `<!doctype html><html><head><title>${title}</title></head><body>${header}<div class="page-with-sidebar"><div class="content">
<h1>${title}</h1><p>${escapeHtml(prose.paragraph())}</p>
<table class="data"><caption>Tonnes per hectare</caption><thead><tr><th rowspan="2">Region</th><th colspan="2">Year 2023</th></tr><tr><th>Range</th><th>Share</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table>
<p>${escapeHtml(prose.paragraph())}</p>
<table><tr><td>Station</td><td>Open</td></tr><tr><td>Wick<br>harbour</td><td><ul><li>Mon</li><li>Tue</li></ul></td></tr></table>
<p>${escapeHtml(prose.paragraph())}</p></div></div>${footer}</body></html>`;
  return {
    name: `tables ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title,
    present: [...prose.sentences, 'Tonnes per hectare'],
    absent: ['Noise'],
    markdown: [
      '| Region | Year 2023 |  |\n',
      '| Region | Range | Share |',
      ...regions.map(
        ({ region, low, high, share }) => `| [${region}](ORIGIN/r/${region}) | ${low}–${high} | ${share}.5 % |`,
      ),
      '| Wick harbour | Mon Tue |',
    ],
  };
}
