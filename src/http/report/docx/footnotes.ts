import type { Citation, ReportSource } from '../../../runs/projections/report.ts';
import { Links } from './links.ts';
import { isRightToLeft, paragraph, textRuns } from './text.ts';
import { WORD_NAMESPACES, xmlPart } from './xml.ts';

/** The separators between text and notes, which every document needs. */
const SEPARATORS = (
  [
    ['separator', -1, 'separator'],
    ['continuationSeparator', 0, 'continuationSeparator'],
  ] as const
)
  .map(
    ([type, id, mark]) =>
      `<w:footnote w:type="${type}" w:id="${id}"><w:p><w:pPr><w:spacing w:after="0" w:line="240" w:lineRule="auto"/></w:pPr><w:r><w:${mark}/></w:r></w:p></w:footnote>`,
  )
  .join('');
const REFERENCE_STYLE = '<w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr>';

/** The footnotes of a document: one for each source that a marker names. */
export class Footnotes {
  readonly links = new Links();
  /** In bytes: as text, thousands of notes would fill the heap. */
  readonly #notes: Buffer[] = [];
  readonly #sources: ReadonlyMap<number | null, ReportSource>;

  constructor(sources: readonly ReportSource[]) {
    this.#sources = new Map(sources.map((source) => [source.number, source]));
  }

  /** The references that replace a marker in the text. Adds their footnotes. */
  references(citations: readonly Citation[]): string {
    return citations.map((citation) => this.#reference(citation)).join(REFERENCE_COMMA);
  }

  /** The part `footnotes.xml`. */
  toBuffer(): Buffer {
    const start = Buffer.from(xmlPart(`<w:footnotes ${WORD_NAMESPACES}>${SEPARATORS}`));
    return Buffer.concat([start, ...this.#notes, Buffer.from('</w:footnotes>')]);
  }

  #reference({ source, quote, isDoubted }: Citation): string {
    const id = this.#notes.length + 1;
    const known = this.#sources.get(source);
    const doubt = isDoubted ? textRuns(' (may not say this)', { italic: true }) : '';
    const content = (known ? this.#content(known, quote) : textRuns(` [${source}]`)) + doubt;
    const rtl = isRightToLeft(known?.title ?? '');
    const note = paragraph(`<w:r>${REFERENCE_STYLE}<w:footnoteRef/></w:r>${content}`, { style: 'FootnoteText', rtl });
    this.#notes.push(Buffer.from(`<w:footnote w:id="${id}">${note}</w:footnote>`));
    return `<w:r>${REFERENCE_STYLE}<w:footnoteReference w:id="${id}"/></w:r>`;
  }

  #content(source: ReportSource, quote: string | null): string {
    return [
      textRuns(` [${source.number}] `),
      sourceRuns(source, this.links),
      quote === null ? '' : textRuns(` “${quote}”`),
    ].join('');
  }
}

/** Separates two references, which would otherwise look like one number. */
export const REFERENCE_COMMA = `<w:r>${REFERENCE_STYLE}<w:t xml:space="preserve">, </w:t></w:r>`;

/** A source as runs: title, address, and whether the run did not read it. */
export function sourceRuns({ url, title, verified }: ReportSource, links: Links): string {
  return [
    title === url ? '' : textRuns(`${title}. `),
    links.hyperlink(url, (link) => textRuns(url, { link })),
    verified ? '' : textRuns(' (not read by the run)', { italic: true }),
  ].join('');
}
