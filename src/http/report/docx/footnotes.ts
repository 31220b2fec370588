import type { Citation, ReportSource } from '../../../runs/projections/report.ts';
import { Links } from './links.ts';
import { PartText } from './part-text.ts';
import { isRightToLeft, paragraph, textRuns } from './text.ts';
import { WORD_NAMESPACES, xmlPart } from './xml.ts';

/** The lines between text and notes, which every document has. */
const LINES = (
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
const RAISED = '<w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr>';

/** The footnotes of a document: one for each source that a marker names. */
export class Footnotes {
  readonly links = new Links();
  readonly #part = new PartText();
  #count = 0;
  readonly #sources: ReadonlyMap<number | null, ReportSource>;

  constructor(sources: readonly ReportSource[]) {
    this.#part.add(xmlPart(`<w:footnotes ${WORD_NAMESPACES}>${LINES}`));
    this.#sources = new Map(sources.map((source) => [source.number, source]));
  }

  /** What stands in the text for a marker: references to its notes. */
  references(citations: readonly Citation[]): string {
    return citations.map((citation) => this.#reference(citation)).join(RAISED_COMMA);
  }

  end(): Buffer {
    return this.#part.add('</w:footnotes>').toBuffer();
  }

  #reference({ source, quote }: Citation): string {
    this.#count += 1;
    const id = this.#count;
    const about = this.#sources.get(source);
    const content = about ? this.#content(about, quote) : textRuns(` [${source}]`);
    const rtl = isRightToLeft(about?.title ?? '');
    const note = paragraph(`<w:r>${RAISED}<w:footnoteRef/></w:r>${content}`, { style: 'FootnoteText', rtl });
    this.#part.add(`<w:footnote w:id="${id}">${note}</w:footnote>`);
    return `<w:r>${RAISED}<w:footnoteReference w:id="${id}"/></w:r>`;
  }

  #content(source: ReportSource, quote: string | null): string {
    return [
      textRuns(` [${source.number}] `),
      sourceRuns(source, this.links),
      quote === null ? '' : textRuns(` “${quote}”`),
    ].join('');
  }
}

/** Between two references, which would read as one number. */
export const RAISED_COMMA = `<w:r>${RAISED}<w:t xml:space="preserve">, </w:t></w:r>`;

/** A source as runs: title, address, and whether nobody read it. */
export function sourceRuns({ url, title, verified }: ReportSource, links: Links): string {
  return [
    title === url ? '' : textRuns(`${title}. `),
    links.hyperlink(url, (link) => textRuns(url, { link })),
    verified ? '' : textRuns(' (not read by the run)', { italic: true }),
  ].join('');
}
