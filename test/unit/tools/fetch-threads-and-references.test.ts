import assert from 'node:assert/strict';
import { readHtml } from '../../../src/tools/fetch-url-content/reading/html/html.ts';

const page = (title: string, body: string) =>
  readHtml(
    `<!doctype html><html><head><title>${title}</title></head><body>${body}</body></html>`,
    'https://a.example/',
  );

const LONG =
  'The bilge pump of our dinghy runs dry after a minute, although its strainer was cleaned twice and the hose is new.';

/** A post of a forum: a pane about its author, a line of buttons, and its text. */
const post = (id: number, author: string, text: string) => `<div class="post p${id}" id="post-${id}">
  <div class="pane"><b>${author}</b><div>Joined in 20${id}</div><div>${author}'s boats: none</div></div>
  <div class="body"><div class="meta">Posted on Monday</div><div class="text">${text}</div>
    <div class="buttons">Quote Report Reply</div></div></div>`;

describe('Threads', () => {
  it('keeps short questions and answers beside a long one', () => {
    const { content } = page(
      'Pump runs dry',
      `<h1>Pump runs dry</h1><form>${post(11, 'Ada', 'Any idea why?')}${post(12, 'Bo', `<div class="spoiler"><p>${LONG}</p><p>${LONG} Again.</p><p>${LONG} And again.</p><p>${LONG} Twice.</p></div>`)}
       ${post(13, 'Cy', 'Check the valve.')}${post(14, 'Di', '<blockquote>Check the valve.</blockquote>Thanks, solved!')}</form>`,
    );
    for (const text of ['Any idea why?', LONG, 'Check the valve.', 'Thanks, solved!'])
      assert.ok(content.includes(text), `${text}\n${content}`);
  });

  it('leaves the comments below an article out', () => {
    const { content } = page(
      'Pumps of small boats',
      `<h1>Pumps of small boats</h1><div class="story"><p>${LONG}</p><p>${LONG} So it was replaced.</p><p>${LONG} Then again.</p></div>
       <div class="comments">${post(21, 'Ada', 'Great read.')}${post(22, 'Bo', 'First!')}${post(23, 'Cy', 'Me too.')}</div>`,
    );
    assert.ok(content.includes('So it was replaced.'), content);
    assert.ok(!content.includes('First!'), content);
  });
});

describe('References', () => {
  it('keeps short notes, signatures and tables of a technical page', () => {
    const section = (name: string, note: string) => `<div class="entry"><h3 id="${name}">${name}</h3>
      <table class="facts"><tr><th>Syntax</th><td><code>${name} <a href="#file">file</a></code></td></tr></table>
      <p>${note} <code>${name}</code> takes one <a href="/file">file</a>.</p><div class="see"><ul><li><a href="/x">Other module</a></li></ul></div></div>`;
    const { content } = page(
      'Module tide',
      `<div id="content"><h1>Module tide</h1><div class="lead"><p>${LONG} It is set by <code>TideFile</code>.</p><p>${LONG} It is read by <code>TideMap</code>.</p></div>
       <div class="extra"><p>An extension of <code>wave</code>.</p></div>
       ${section('TideFile', 'Read at start.')}${section('TideMap', 'Mapped.')}${section('TideLog', '')}</div>
       <div class="menu"><a href="/a">Modules</a> <a href="/b">Glossary</a></div>`,
    );
    for (const text of ['An extension of `wave`.', 'Read at start.', 'Mapped.', '`TideLog` takes one', '| Syntax |'])
      assert.ok(content.includes(text), `${text}\n${content}`);
    assert.ok(!content.includes('Glossary'), content);
  });

  it('takes a heading with the name of a class for the title, not the same name below it', () => {
    const { content } = page(
      'TideException (Harbour 4)',
      `<main><div class="head"><div>Package harbour</div><h1>Class TideException</h1></div><div class="up">Object<div class="up">Throwable<div class="up">TideException</div></div></div>
       <section class="about"><dl><dt>Implements:</dt><dd><code><a href="/s">Stored</a></code></dd></dl><div class="sig">public class <b>TideException</b> extends <code>Throwable</code></div>
       <div class="block">Thrown by a <code>Tide</code> whose table has no entry for the day that was asked.</div><dl><dt>Since:</dt><dd>1.5</dd></dl></section>
       <section class="list"><h2>Summary</h2><div class="caption">Constructors</div><div class="grid"><div>Constructor</div><div>Description</div><div><code><a href="#a">TideException</a>()</code></div>
       <div><div class="block">Constructs one without a message.</div></div></div></section>
       <section class="details"><ul><li><section class="inner"><h2>Details</h2><ul><li><section class="detail"><h3>TideException</h3><div class="sig">public TideException(String s)</div>
       <div class="block">Constructs a <code>TideException</code> and saves a reference to the message <code>s</code> for later retrieval by its <code>getMessage</code>.</div></section></li></ul></section></li></ul></section></main>`,
    );
    assert.ok(content.includes('Thrown by a `Tide`') && content.includes('one without a message'), content);
  });
});
