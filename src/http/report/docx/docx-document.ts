import { Lexer } from 'marked';
import { encodeTexts } from '../../../base/json-bytes.ts';
import { replaceCharts } from '../../../protocol/chart/chart-blocks.ts';
import { chartTable } from '../../../protocol/chart/chart-table.ts';
import { FORMULAS } from '../../../protocol/formula/formulas.js';
import type { Report, ReportSource } from '../../../runs/projections/report.ts';
import { dateOf } from '../markdown.ts';
import { withPlaceholders } from '../markers.ts';
import { highestHeading } from '../plain-text.ts';
import { BlockWriter } from './blocks.ts';
import { Footnotes, sourceRuns } from './footnotes.ts';
import { InlineWriter } from './inline.ts';
import { Links, type PartRelation, relationsPart } from './links.ts';
import { DocxLists } from './numbering.ts';
import { stylesPart } from './styles.ts';
import { isRightToLeft, paragraph, textRuns } from './text.ts';
import { RELATIONSHIPS, WORD_NAMESPACES, xmlPart, xmlText } from './xml.ts';
import { zipFile } from './zip.ts';

/** The parts in `word/` that the document refers to. */
const PARTS: readonly PartRelation[] = ['styles', 'settings', 'numbering', 'footnotes', 'footer'].map((type) => ({
  id: type,
  type,
  target: `${type}.xml`,
}));

/**
 * The report as a Word document (ECMA-376, transitional): headings, lists, tables, links, and a footnote for each source
 * that a marker names. Everything in it comes from models and web pages, so it is written as text, and links lead to web
 * addresses only.
 */
export function reportDocx(report: Report): Buffer {
  const links = new Links();
  const notes = new Footnotes(report.sources);
  const lists = new DocxLists();
  const text = withPlaceholders(report);
  // Word cannot draw the charts, so their data becomes an editable table.
  const shown = report.charts ? replaceCharts(text, (chart) => `${chartTable(chart)}\n`) : text;
  const tokens = new Lexer({ gfm: true, extensions: FORMULAS }).lex(shown);
  const inline = new InlineWriter({ report, notes, links });
  const blocks = new BlockWriter({ inline, lists, top: highestHeading(tokens) }).blocks(tokens);
  const document = encodeTexts(documentPart(report, { blocks, links }));
  return zipFile([
    ['[Content_Types].xml', contentTypes()],
    ['_rels/.rels', PACKAGE_RELATIONS],
    ['docProps/core.xml', properties(report)],
    ['word/document.xml', document],
    ['word/_rels/document.xml.rels', links.relations(PARTS)],
    ['word/styles.xml', stylesPart()],
    ['word/settings.xml', SETTINGS],
    ['word/numbering.xml', lists.toString()],
    ['word/footnotes.xml', notes.toBuffer()],
    ['word/_rels/footnotes.xml.rels', notes.links.relations()],
    ['word/footer.xml', FOOTER],
  ]);
}

/** The part `document.xml`, piece by piece. */
function* documentPart(
  report: Report,
  { blocks, links }: { blocks: Iterable<string>; links: Links },
): Generator<string> {
  yield xmlPart(`<w:document ${WORD_NAMESPACES}><w:body>`);
  yield frontMatter(report);
  yield* blocks;
  yield* sourceList(report.sources, links);
  yield plainParagraph(`${dateOf(report.endedAt)} · ${report.model}`, 'Imprint');
  yield `${SECTION}</w:body></w:document>`;
}

function frontMatter({ title, question, notes }: Report): string {
  return [
    plainParagraph(title, 'Title'),
    question === '' ? '' : plainParagraph(question, 'Question'),
    ...notes.map((note) => plainParagraph(note, 'Notice')),
  ].join('');
}

function plainParagraph(text: string, style: string): string {
  const rtl = isRightToLeft(text);
  return paragraph(textRuns(text, { rtl, lines: true }), { style, rtl });
}

function* sourceList(sources: readonly ReportSource[], links: Links): Generator<string> {
  if (sources.length > 0) yield paragraph(textRuns('Sources'), { style: 'Heading1' });
  for (const source of sources) {
    const mark = source.number === null ? '–' : `[${source.number}]`;
    yield paragraph(textRuns(`${mark}\t`) + sourceRuns(source, links), { style: 'Source' });
  }
}

/** A4 with page numbers. */
const SECTION =
  '<w:sectPr><w:footerReference w:type="default" r:id="footer"/><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1440" w:right="1440" w:bottom="1440" w:left="1440" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr>';

const FOOTER = xmlPart(
  `<w:ftr ${WORD_NAMESPACES}><w:p><w:pPr><w:pStyle w:val="Footer"/></w:pPr><w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p></w:ftr>`,
);

/** Without a compatibility mode Word treats the file as one of Word 2007. */
const SETTINGS = xmlPart(
  `<w:settings ${WORD_NAMESPACES}><w:footnotePr><w:footnote w:id="-1"/><w:footnote w:id="0"/></w:footnotePr><w:compat><w:compatSetting w:name="compatibilityMode" w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat></w:settings>`,
);

const PACKAGE_RELATIONS = relationsPart(
  `<Relationship Id="document" Type="${RELATIONSHIPS}/officeDocument" Target="word/document.xml"/><Relationship Id="properties" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/>`,
);

function contentTypes(): string {
  const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml';
  const parts = [['document', 'document.main'], ...PARTS.map(({ type }) => [type, type])];
  const overrides = parts.map(
    ([name, type]) => `<Override PartName="/word/${name}.xml" ContentType="${word}.${type}+xml"/>`,
  );
  return xmlPart(
    `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>${overrides.join('')}</Types>`,
  );
}

function properties({ title, endedAt }: Report): string {
  const time = new Date(endedAt * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  return xmlPart(
    `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>${xmlText(title)}</dc:title><dcterms:created xsi:type="dcterms:W3CDTF">${time}</dcterms:created></cp:coreProperties>`,
  );
}
