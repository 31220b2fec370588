import { type PdfLine, textPdf } from '../pdf-file.ts';
import { Prose, type SamplePage } from './prose.ts';

/** Letters that the PDF's font encoding has where the bytes of Latin-1 are. */
function plain(text: string): string {
  return text.replaceAll('–', '-');
}

/** A long report: numbered pages, wrapped lines, words broken at line ends. */
export function longPdf(seed: number, pageCount: number): SamplePage {
  const prose = new Prose(seed);
  const present: string[] = [];
  const pages = Array.from({ length: pageCount }, (_, page): PdfLine[] => {
    const sentences = Array.from({ length: 12 }, () => plain(prose.sentence()));
    present.push(...sentences);
    const lines = sentences.map((text, at) => ({ text, x: 72, y: 740 - at * 14 }));
    return [{ text: `Chapter ${page + 1}`, x: 72, y: 780, size: 18 }, ...lines];
  });
  pages[0]?.push({ text: 'The measure-', x: 72, y: 500 }, { text: 'ments were repeated.', x: 72, y: 486 });
  return {
    name: `PDF of ${pageCount} pages`,
    contentType: 'application/pdf',
    body: textPdf(pages, {
      Title: `Annual report ${seed}`,
      Author: 'Water Board',
      CreationDate: "D:20230517101500+02'00'",
    }),
    title: `Annual report ${seed}`,
    present: [...present, 'The measurements were repeated.'],
    absent: [],
    markdown: ['[Page 1]', `[Page ${pageCount}]`],
    author: 'Water Board',
    published: '2023-05-17',
  };
}

/** A table set in columns, without a title of its own, under a wrong content type. */
export function tablePdf(seed: number): SamplePage {
  const prose = new Prose(seed);
  const rows = ['North', 'South', 'East'].map((name) => [
    name,
    String(prose.number(100, 999)),
    `${prose.number(1, 9)}-${prose.number(10, 20)}`,
  ]);
  const lines = [['Region', 'Stations', 'Range'], ...rows].flatMap((row, at) =>
    row.map((text, column) => ({ text, x: 72 + column * 120, y: 700 - at * 18 })),
  );
  return {
    name: `PDF with a table ${seed}`,
    contentType: 'application/octet-stream',
    body: textPdf([[{ text: 'Stations by region', x: 72, y: 760, size: 16 }, ...lines]]),
    title: 'Stations by region',
    present: ['Stations by region'],
    absent: [],
    markdown: [
      `| Region | Stations | Range |\n| --- | --- | --- |\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`,
    ],
  };
}
