import assert from 'node:assert/strict';
import { type AnswerPart, AnswerScanner } from '../../../src/research/answer/answer-scanner.ts';
import { mayShowFor } from '../../../src/research/answer/safe-markup.ts';
import { urlIn } from '../../../src/research/text/url-in-text.ts';
import { readSources } from '../../support/cited-answer.ts';

const MET = 'https://met.example/page';
const sources = readSources(MET);
const mayShow = mayShowFor(sources, new Set());

/** The parts of a text that arrives in pieces, which end at these places. */
function partsOf(text: string, ...ends: number[]): AnswerPart[] {
  const scanner = new AnswerScanner((raw) => urlIn(raw, sources).length, mayShow);
  const parts: AnswerPart[] = [];
  let from = 0;
  for (const end of [...ends, text.length]) {
    parts.push(...scanner.push(text.slice(from, end)));
    from = end;
  }
  return joined([...parts, ...scanner.end()]);
}

/** Neighbouring text is one part, however it came. */
function joined(parts: readonly AnswerPart[]): AnswerPart[] {
  const all: AnswerPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.type === 'text' && last?.type === 'text') last.text += part.text;
    else all.push({ ...part });
  }
  return all;
}

const textsOf = (text: string, type: AnswerPart['type']) =>
  partsOf(text)
    .filter((part) => part.type === type)
    .map((part) => part.text);

/** Zeros of the scripts that write numbers in ten digits of their own. */
const ZEROS = [...'0٠۰०০੦૦୦௦౦೦൦๐໐၀០０'];

describe('AnswerScanner', () => {
  it('reads the numbers of markers in the digits of any script', () => {
    for (const zero of ZEROS) {
      const written = (number: number) =>
        [...String(number)].map((digit) => String.fromCharCode(zero.charCodeAt(0) + Number(digit))).join('');
      const text = `One [${written(1)}], more [${written(7)}, ${written(20)}-${written(23)}] and 【${written(456)}】.`;
      for (let end = 0; end < text.length; end += 1) {
        const numbers = partsOf(text, end).flatMap((part) => (part.type === 'marker' ? [part.numbers] : []));
        assert.deepEqual(numbers, [[1], [7, 20, 21, 22, 23], [456]], text);
      }
    }
  });

  it('returns parts that join to the whole text, however it is cut', () => {
    for (const text of [
      `\`${MET}\` and \`\` ${MET} \`\` and \`see ${MET}\``,
      `${MET} <${MET}> [1] ${MET}[2] ![a](${MET}) [b]: ${MET}`,
      'https:// http://h corpus:///a.md https://[ ended by https://',
      `- \`\`\`\n${MET}\n<b> ](\n\`\`\`\nand on`,
    ]) {
      for (let at = 0; at <= text.length; at++) {
        const parts = partsOf(text, at);
        assert.equal(parts.map((part) => part.text).join(''), text);
        assert.deepEqual(parts, partsOf(text), `cut at ${at}`);
      }
    }
  });

  it('cuts no character of a long line of code in two', () => {
    const scanner = new AnswerScanner((raw) => raw.length);
    const parts = scanner.push(`- \`\`\`\n  ${'a'.repeat(3997)}${'😀'.repeat(100)}`);
    assert.ok(parts.length > 0 && parts.every(({ text }) => text.isWellFormed()));
  });

  it('leaves out the tags around tool results, however the text is cut', () => {
    const text = 'It says <tool_result-abcdefghijkl>\nRain [1].\n</tool_result-abcdefghijkl> of <tool_results>.';
    for (let at = 0; at <= text.length; at++) {
      const shown = partsOf(text, at).map((part) => part.text);
      assert.equal(shown.join(''), 'It says \nRain [1].\n of <tool_results>.', `cut at ${at}`);
    }
  });

  it('finds a URL of up to 2000 characters, also if it fills a code span', () => {
    assert.deepEqual(partsOf(`\`${MET}\``), [
      { type: 'text', text: '`' },
      { type: 'url', text: MET },
      { type: 'text', text: '`' },
    ]);
    assert.deepEqual(textsOf(`\`${MET} more\``, 'url'), []);
    const long = `${MET}?${'x'.repeat(2000)}`;
    assert.deepEqual(textsOf(`${long.slice(0, 2000)} `, 'url'), [long.slice(0, 2000)]);
    assert.deepEqual(textsOf(`${long.slice(0, 2001)} `, 'url'), []);
  });

  it('returns the same parts wherever a long line of code is cut', () => {
    const fence = `\`\`\`${' '.repeat(197)}`;
    const doubtful = `- \`\`\`\n${'x'.repeat(3996)}](https://a.example/?q)${'y'.repeat(200)}\n`;
    for (const text of [
      `\`\`\`\n${fence}x\n${MET}`,
      `\`\`\`\n${fence}\n${MET}`,
      doubtful,
      `- \`\`\`\n<${'b'.repeat(4100)}>`,
    ]) {
      const whole = partsOf(text);
      for (const about of [4, 204, 4004]) {
        for (let at = about - 6; at <= about + 8; at++) {
          if (at > 0 && at < text.length) assert.deepEqual(partsOf(text, at), whole, `cut at ${at}`);
        }
      }
    }
  });

  it('ends a code block at a closing fence, unless that line is too long to be one', () => {
    const fence = (length: number) => `\`\`\`\n${MET}\n\`\`\`${' '.repeat(length - 3)}\n${MET}`;
    assert.deepEqual(textsOf(fence(3), 'url'), [MET]);
    assert.deepEqual(textsOf(fence(199), 'url'), [MET]);
    assert.deepEqual(textsOf(fence(201), 'url'), []);
  });

  it('tells an image from a link, after and around any number of brackets', () => {
    const query = `${MET}?and=what+was+said`;
    for (const n of [0, 1, 99, 100, 101, 250]) {
      assert.deepEqual(textsOf(`${'['.repeat(n)}[a](${query})`, 'mark'), [], `a link behind ${n}`);
      assert.deepEqual(textsOf(`${'['.repeat(n)}![a](${query})`, 'mark'), ['('], `an image behind ${n}`);
      assert.deepEqual(textsOf(`![${'['.repeat(n)}a${']'.repeat(n)}](${query})`, 'mark'), ['('], `one around ${n}`);
    }
    assert.deepEqual(textsOf(`![a][b]\n\n[b]: ${query}`, 'mark'), [':'], 'a definition may be an image’s');
    assert.deepEqual(textsOf(`![a](${MET})`, 'mark'), []);
  });
});
