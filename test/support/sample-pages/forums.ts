import { escapeHtml, Prose, type SamplePage, SURROUNDINGS } from './prose.ts';

const { header, sidebar, footer, scripts, cookie } = SURROUNDINGS;

/** A forum thread in `div`s: many short posts, each with its author. */
export function threadPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Boiler makes noise at night ${prose.number(100, 999)}`.replace('noise', 'sounds');
  const posts = Array.from({ length: 9 }, (_, at) => {
    const quote = at > 0 && at % 3 === 0 ? `<blockquote>${escapeHtml(prose.sentence())}</blockquote>` : '';
    return `<div class="post" id="p${at}"><div class="author"><a href="/u/${at}">member${at}</a></div><div class="cooked">${quote}<p>${escapeHtml(prose.paragraph(1 + (at % 3)))}</p></div><div class="actions"><button>Noiselike</button><button>Noisereply</button></div></div>`;
  });
  const body = `<!doctype html><html><head><title>${title} - Heating forum</title>${scripts}</head><body>${header}${cookie}
<div id="main-outlet"><h1>${title}</h1><div class="topic-body">${posts.join('\n')}</div>
<p>Solved with <a href="https://parts.test/valve?id=9">this valve</a>.</p></div>${sidebar}${footer}</body></html>`;
  return {
    name: `thread ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title,
    present: [...prose.sentences, 'member4'],
    absent: ['Noise'],
    markdown: ['[this valve](https://parts.test/valve?id=9)', '> '],
  };
}

/** A board laid out with nested tables, as very old forums are. */
export function tableForumPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `Ask: best survey method ${prose.number(100, 999)}`;
  const comments = Array.from(
    { length: 8 },
    (_, at) =>
      `<tr><td><table border="0"><tr><td width="${at * 40}"><img src="s.gif"></td><td><span class="comhead">poster${at} <a href="item?id=${at}">2 hours ago</a></span><br><div class="comment">${escapeHtml(prose.paragraph(3))}</div></td></tr></table></td></tr>`,
  );
  const body = `<html><head><title>${title} | Board</title></head><body><center><table width="85%"><tr><td bgcolor="#ff6600"><table><tr><td><b>Noiseboard</b></td><td><a href="newest">noisenew</a> | <a href="threads">noisethreads</a> | <a href="ask">noiseask</a> | <a href="jobs">noisejobs</a></td></tr></table></td></tr>
<tr><td><table><tr><td class="title"><a href="https://survey.test/method">${title}</a></td></tr><tr><td>${escapeHtml(prose.paragraph(2))}</td></tr></table><br><table class="comment-tree">${comments.join('\n')}</table></td></tr></table></center></body></html>`;
  return {
    name: `table forum ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title: `${title} | Board`,
    present: [...prose.sentences, 'poster3'],
    absent: [],
    markdown: [`[${title}](https://survey.test/method)`],
  };
}

/** A question with answers, votes and code. */
export function questionPage(seed: number): SamplePage {
  const prose = new Prose(seed);
  const title = `How do I join two lists ${prose.number(100, 999)}?`;
  const answers = Array.from(
    { length: 3 },
    (_, at) =>
      `<div class="answer" itemprop="suggestedAnswer"><div class="votecell"><span>${at + 3}</span></div><div class="answercell"><div class="s-prose"><p>${escapeHtml(prose.paragraph(3))}</p><pre class="lang-py"><code>c${at} = [*a, *b]\nprint(c${at})</code></pre></div><div class="user-info"><a href="/users/${at}">answerer${at}</a></div></div></div>`,
  );
  const body = `<!doctype html><html><head><title>python - ${title}</title>${scripts}</head><body class="question-page">${header}
<div id="left-sidebar"><a href="/q">Noisequestions</a></div><div id="mainbar"><h1>${title}</h1><div class="question"><div class="s-prose"><p>${escapeHtml(prose.paragraph(3))}</p></div></div>
<div id="answers"><h2>3 Answers</h2>${answers.join('\n')}</div><form><h2>Noiseyour answer</h2><textarea></textarea></form></div>
<div id="sidebar"><h4>Noiselinked</h4><a href="/1">Noiselinked question</a></div>${footer}</body></html>`;
  return {
    name: `question ${seed}`,
    contentType: 'text/html; charset=utf-8',
    body,
    title: `python - ${title}`,
    present: [...prose.sentences],
    absent: ['Noise'],
    markdown: ['```py\nc0 = [*a, *b]\nprint(c0)\n```', 'c2 = [*a, *b]'],
  };
}
