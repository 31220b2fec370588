import assert from 'node:assert/strict';
import { readCaptions } from '../../../src/tools/fetch-url-content/reading/plain/captions.ts';
import { readCsv } from '../../../src/tools/fetch-url-content/reading/plain/csv.ts';
import { readJsonText } from '../../../src/tools/fetch-url-content/reading/plain/json-text.ts';

describe('fetch_url_content: details of plain kinds', () => {
  it('keeps what stands between a closing quote and the separator of CSV, whatever its signs', () => {
    assert.equal(readCsv('a,b\n"x" y; z,1\n"v"\tw,2\n'), '| a | b |\n| --- | --- |\n| x y; z | 1 |\n| v w | 2 |');
  });

  it('leaves out the times of single words in captions', () => {
    const text = 'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nHigh<00:00:01.000><c> tide</c>, 2 < 3\n';
    assert.equal(readCaptions(text), 'High tide, 2 < 3');
  });

  it('takes no type or address in angle brackets of JSON for markup', () => {
    const value = 'List<String> of <jane@example.org>, a <b and c> d';
    assert.equal(
      readJsonText(JSON.stringify({ a: value, b: '<p>High<br>tide</p>', c: 'x<br />y' })),
      `a: ${value}\nb: High tide\nc: x y`,
    );
  });
});
