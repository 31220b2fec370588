import assert from 'node:assert/strict';
import { fileTypeOf } from '../../../src/files/file-type.ts';

describe('the media type of a file', () => {
  it('comes from the name of a text file unless the sender declared a specific type', () => {
    const types: [name: string, sent: string, type: string][] = [
      ['README.md', 'application/octet-stream', 'text/markdown'],
      ['tides.CSV', 'application/vnd.ms-excel', 'text/csv'],
      ['tides.tsv', '', 'text/tab-separated-values'],
      ['Page.vue', '', 'text/plain'],
      ['main.ts', 'video/mp2t', 'text/plain'],
      ['notes.txt', 'application/octet-stream', 'text/plain'],
      ['notes.txt', 'text/markdown', 'text/markdown'],
      ['table.csv', 'text/csv; charset=shift_jis', 'text/csv; charset=shift_jis'],
      ['notes.md', 'text/plain; charset=windows-1251', 'text/markdown; charset=windows-1251'],
      ['report.pdf', 'application/octet-stream', 'application/octet-stream'],
      ['data.json', 'application/json', 'application/json'],
      ['unknown', 'image/png', 'image/png'],
      ['TIDES.TAB', '', 'text/tab-separated-values'],
      ['page.html', 'application/pdf', 'application/pdf'],
      ['book.txt', 'application/epub+zip', 'application/epub+zip'],
      ['tides.csv', 'application/vnd.oasis.opendocument.spreadsheet', 'application/vnd.oasis.opendocument.spreadsheet'],
    ];
    for (const [name, sent, type] of types) assert.equal(fileTypeOf(name, sent), type, name);
  });
});
