import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';
import { read } from '../../../src/tools/fetch-url-content/reading/read.ts';

const S = 'The scheduler keeps a queue of pending jobs and hands each of them to the first worker that is free.';
const T = 'When a worker fails, its lease runs out after thirty seconds and the job returns to the queue unharmed.';
const comment = (who: string, text: string) =>
  `<tr class="athing comtr"><td><table><tr><td class="ind"><img src="s.gif"></td><td class="votelinks"></td><td class="default"><span class="comhead"><a href="user" class="hnuser">${who}</a></span><div class="commtext c00">${text}</div></td></tr></table></td></tr>`;
const post = (who: string, text: string) =>
  `<article class="message message--post"><h4 class="message-name"><a>${who}</a></h4><div class="message-content"><div class="bbWrapper">${text}</div></div></article>`;
const reference = (rows: string) =>
  `<main><h1>Class Queue</h1><section><div>class Queue</div><p>${S}</p></section><section><h2>Methods</h2><div class="grid">${rows}</div></section><section><h2>Details</h2><h3>push</h3><p>${T} ${S}</p></section></main>`;

/** Pages as common tools publish them, with text that must be read and text that must not. */
const PAGES: [name: string, body: string, wanted: string[], unwanted?: string[]][] = [
  [
    'VitePress: code in one piece, without line numbers',
    `<main><h1>Queue</h1><p>${S}</p><div class="language-sh"><pre class="shiki"><code><span class="line"><span>npm</span><span> add</span><span> queue</span></span></code></pre><div class="line-numbers-wrapper"><span>1</span><br></div></div><p>${T}</p></main>`,
    ['```sh\nnpm add queue\n```'],
    ['\n1\n'],
  ],
  [
    'mdBook: the language of a nested pre',
    `<main><h1>Queue</h1><p>${S}</p><pre><pre class="playground"><code class="language-rust">q.push(1);</code></pre></pre><p>${T}</p></main>`,
    ['```rust\nq.push(1);\n```'],
  ],
  [
    'docutils: headings that link back to the contents',
    `<main><h1>Queue</h1><p>${S}</p><h2><a class="toc-backref" href="#id1">Leases</a></h2><p>${T}</p></main>`,
    ['## Leases\n'],
  ],
  [
    'rustdoc: headings without their button, and one that is a button',
    `<main><h1>Struct Queue<button>Copy item path</button></h1><p>${S}</p><h2><button>More of it</button></h2><p>${T}</p></main>`,
    ['# Struct Queue\n', '## More of it\n'],
    ['Copy item'],
  ],
  [
    'Doxygen: lines of code without a pre',
    `<main><h1>Queue</h1><p>${S}</p><div class="fragment"><div class="line"><span class="lineno">1</span>Queue q;</div><div class="line"><span class="lineno">2</span>  q.push(4);</div></div><p>${T}</p></main>`,
    ['```\nQueue q;\n  q.push(4);\n```'],
  ],
  [
    'Javadoc: a grid of short texts between sections, and a heading unlike the title',
    reference('<div>void</div><div>push(Job j)</div><div>Adds a job.</div><div>int</div><div>size()</div>'),
    ['# Class Queue\n', '## Methods\n', 'push(Job j)', 'Adds a job.'],
  ],
  [
    'Javadoc: a reference with hardly a sentence, whose sections are in lists',
    `<main><h1>Class Queue</h1><div>public class Queue</div><ul><li><section><h2>Methods</h2><div><div>boolean</div><div><code>add(Job j)</code></div><div>Adds a job.</div></div></section></li><li><section><a id="d"></a><h2>Details</h2><ul><li><h3>add</h3><div>public boolean add(Job j)</div><div>Adds a job.</div></li><li><h3>size</h3><div>public int size()</div></li></ul></section></li></ul></main><footer>Copyright</footer>`,
    [
      'public class Queue',
      '\n## Methods\n',
      '`add(Job j)`',
      '\n### add\n',
      'public boolean add(Job j)',
      'public int size()',
    ],
    ['Copyright'],
  ],
  [
    'TypeDoc: members without descriptions',
    `<div><div class="col-content"><h1>Class Queue</h1><section class="tsd-panel"><p>${S}</p></section><section class="tsd-panel-group"><h2>Methods</h2><section class="tsd-panel"><h3>size</h3><div class="tsd-signature">size(): number</div></section></section></div><div><a href="/a">Queue</a></div></div>`,
    ['## Methods\n', '### size\n', 'size(): number'],
  ],
  [
    'a list of steps with headings keeps its numbers',
    `<main><h1>Queue</h1><p>${S}</p><ol><li><h3>Install</h3><p>${T}</p></li><li><h3>Start</h3><p>${S}</p></li></ol></main>`,
    ['1. ### Install', '2. ### Start'],
  ],
  [
    'headings whose text is in a block',
    `<article><h1>Queue</h1><div><p>${S} ${T}</p></div><h3><div>Friday</div></h3><div><p>${T} ${S}</p></div><h3><div>Monday</div></h3><div><p>${S} ${T}</p></div></article>`,
    ['### Friday\n'],
  ],
  [
    'no box that only opens a menu, but boxes of tasks',
    `<main><h1>Queue</h1><p>${S}</p><label for="m"></label><input type="checkbox" id="m"><p>${T}</p><ul><li><input type="checkbox" checked> Done</li></ul></main>`,
    ['- [x] Done'],
    ['[ ]'],
  ],
  [
    'LaTeXML: the mark of a note once',
    `<article><h1>Queue</h1><p>${S}<span class="ltx_note"><sup class="ltx_note_mark">2</sup><span class="ltx_note_outer"><span class="ltx_note_content"><sup class="ltx_note_mark">2</sup><span class="ltx_note_type">footnotemark: </span><span class="ltx_tag ltx_tag_note">2</span>Since May.</span></span></span></p><p>${T}</p></article>`,
    ['Since May.'],
    ['footnotemark', '²2'],
  ],
  [
    'an ARIA table',
    `<main><h1>Queue</h1><p>${S}</p><div role="table"><div role="row"><span role="columnheader">Plan</span><span role="columnheader">Price</span></div><div role="row"><span role="cell">Small</span><span role="cell">5 €</span></div></div><p>${T}</p></main>`,
    ['| Plan | Price |\n| --- | --- |\n| Small | 5 € |'],
  ],
  [
    'a table with an empty corner',
    `<main><h1>Queue</h1><p>${S}</p><table><tr><td></td><th>A</th></tr><tr><th>Speed</th><td>5</td></tr></table><p>${T}</p></main>`,
    ['|  | A |\n| --- | --- |\n| Speed | 5 |'],
  ],
  [
    'footnotes at the end',
    `<article><h1>Queue</h1><p>${S}<sup><a href="#fn1">1</a></sup></p><p>${T}</p><aside class="footnote-list"><aside role="doc-footnote"><p>In spring.</p></aside></aside></article>`,
    ['free.[1]', 'In spring.'],
  ],
  [
    'Hacker News: short comments, with their authors',
    `<center><table><tr><td><table class="comment-tree">${comment('hugo', 'I like it.')}${comment('ida', S)}${comment('jan', 'Since May.')}</table></td></tr></table></center>`,
    ['hugo', 'I like it.', 'ida', S, 'jan', 'Since May.'],
    ['|'],
  ],
  [
    'XenForo: short posts',
    `<div><h1>Stuck queue</h1>${post('Dora', 'It is stuck.')}${post('Emil', S)}${post('Fritz', T)}</div>`,
    ['Dora', 'It is stuck.', 'Emil', 'Fritz', T],
  ],
  [
    'text in a shadow root',
    `<main><h1>Queue</h1><queue-card><template shadowrootmode="open"><p>${S}</p></template><p>${T}</p></queue-card></main>`,
    [S, T],
  ],
];

describe('pages published by common tools', () => {
  for (const [name, body, wanted, unwanted = []] of PAGES) {
    it(`are read: ${name}`, () => {
      const html = `<!doctype html><html><head><title>Queue guide</title></head><body>${body}</body></html>`;
      const { content } = readHtml(html, 'https://example.org/page');
      for (const piece of wanted) assert.ok(content.includes(piece), `${piece}\n--\n${content}`);
      for (const piece of unwanted) assert.ok(!content.includes(piece), `${piece}\n--\n${content}`);
    });
  }
});

describe('reading text and JSON', () => {
  const text = async (kind: 'text' | 'json', body: string) => {
    const url = 'https://example.org/a';
    return (await read({ kind, bytes: Buffer.from(body), charset: undefined, url, softLimitMs: 2000 })).content;
  };

  it('turns captions into the spoken text, each line once', async () => {
    const vtt =
      'WEBVTT\n\n00:00.000 --> 00:02.000\nHello there.\n\n00:02.000 --> 00:04.000\nHello there.\nAll is well.\n';
    assert.equal(await text('text', vtt), 'Hello there. All is well.');
    const srt = '1\n00:00:01,000 --> 00:00:02,000\nFirst line.\n\n2\n00:00:09,000 --> 00:00:10,000\nAfter a pause.\n';
    assert.equal(await text('text', srt), 'First line.\n\nAfter a pause.');
  });

  it('turns JSON into fields with every digit, and like objects into tables', async () => {
    const json = '{"id": 12345678901234567890, "tags": ["a", "b"], "rows": [{"k": "x", "n": 1}, {"k": "y", "n": 2}]}';
    const content = await text('json', json);
    for (const piece of ['id: 12345678901234567890', 'tags: a, b', '| k | n |', '| y | 2 |']) {
      assert.ok(content.includes(piece), content);
    }
  });
});
