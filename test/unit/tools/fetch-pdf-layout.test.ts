import assert from 'node:assert/strict';
import {
  inReadingDirection,
  type PlacedText,
  removeRunningLines,
  sortForReading,
} from '../../../src/tools/fetch-url-content/reading/pdf/pdf-layout.ts';

const piece = (text: string, x: number, y: number, width = text.length * 5): PlacedText => ({
  text,
  x,
  y,
  width,
  height: 10,
});
const left = (at: number) => `left line ${String(at).padStart(2, '0')} with words of it`;
const right = (at: number) => `right line ${String(at).padStart(2, '0')} with words of it`;
const textsOf = (pieces: readonly PlacedText[]) => pieces.map(({ text }) => text);

describe('the layout of PDF pages', () => {
  const numbers = Array.from({ length: 12 }, (_, at) => at);

  it('orders columns that were written line by line one after the other, below their common title', () => {
    const page = [
      piece('A title that goes over both of the columns of the whole page', 60, 760, 460),
      ...numbers.flatMap((at) => [piece(left(at), 50, 740 - at * 12, 220), piece(right(at), 310, 740 - at * 12, 220)]),
    ];
    assert.deepEqual(textsOf(sortForReading(page)), [
      'A title that goes over both of the columns of the whole page',
      ...numbers.map(left),
      ...numbers.map(right),
    ]);
  });

  it('leaves pages alone that are in order: columns, one column, tables', () => {
    const columns = [
      ...numbers.map((at) => piece(left(at), 50, 740 - at * 12, 220)),
      ...numbers.map((at) => piece(right(at), 310, 740 - at * 12, 220)),
    ];
    const single = numbers.map((at) => piece(`${left(at)} ${right(at)}`, 50, 740 - at * 12, 480));
    const table = numbers.flatMap((at) => [
      piece(`Station ${at}`, 50, 740 - at * 12, 60),
      piece(`${at}.5 m`, 310, 740 - at * 12, 40),
    ]);
    for (const page of [columns, single, table]) assert.equal(sortForReading(page), page);
  });

  it('leaves columns alone that follow each other word by word, also if lines of the middle one have gaps in one place', () => {
    const words = ['several', 'words', 'of', 'a', 'line'];
    const column = (x: number) =>
      numbers.flatMap((at) => words.map((word, n) => piece(`${word}${at}`, x + n * 31 + (at % 3), 740 - at * 12, 28)));
    const page = [...column(50), ...column(220), ...column(390)];
    assert.equal(sortForReading(page), page);
  });

  it('orders lines in Arabic and Hebrew from right to left, with numbers and foreign names in their places', () => {
    const line = [piece('לעיר.', 50, 700), piece('Lake', 80, 700), piece('Garda', 110, 700), piece('412', 140, 700)];
    const page = [...line, piece('המעבורת נושאת', 170, 700), piece('Lake', 50, 680), piece('is a lake', 80, 680)];
    assert.deepEqual(textsOf(inReadingDirection(page)), [
      ...['המעבורת נושאת', 'Lake', 'Garda', '412', 'לעיר.'],
      ...['Lake', 'is a lake'],
    ]);
  });

  it('drops running headers and footers, and no other lines', () => {
    const pages = numbers.map(
      (at) => `Journal of Tides, vol. ${at}\nText of page ${at}.\nMore of ${'abcdefghijkl'[at]}.\n${at + 1}`,
    );
    assert.deepEqual(
      removeRunningLines(pages),
      numbers.map((at) => `Text of page ${at}.\nMore of ${'abcdefghijkl'[at]}.`),
    );
    const table = '| Station | Range |\n| --- | --- |\n| Wick | 2.8 |';
    const tables = numbers.map(() => table);
    assert.deepEqual(removeRunningLines(tables), tables, 'the head of a table that goes on');
    const few = ['Title\nText', 'Title\nMore'];
    assert.deepEqual(removeRunningLines(few), few);
  });
});
