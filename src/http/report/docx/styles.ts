import { WORD_NAMESPACES, xmlPart } from './xml.ts';

/** Sizes in half points, distances in twentieths of a point. Word requires the elements of a style in this order. */
interface Style {
  id: string;
  name: string;
  kind?: 'paragraph' | 'character' | 'table';
  base?: string;
  next?: string;
  /** Whether Word offers the style to users. */
  common?: boolean;
  paragraph?: string;
  text?: string;
  table?: string;
}

const SOFT = '5B636B';
const ACCENT = '17616B';
const LINE = 'DCDFE2';
const MONOSPACE = '<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Courier New"/>';

const spacing = (before: number, after: number) => `<w:spacing w:before="${before}" w:after="${after}"/>`;
const size = (halves: number) => `<w:sz w:val="${halves}"/><w:szCs w:val="${halves}"/>`;
const color = (value: string) => `<w:color w:val="${value}"/>`;
const border = (side: string, space = 0) => `<w:${side} w:val="single" w:sz="6" w:space="${space}" w:color="${LINE}"/>`;

const HEADING_SIZES = [32, 27, 24, 22, 22, 22];

const STYLES: readonly Style[] = [
  {
    id: 'Title',
    name: 'Title',
    next: 'Normal',
    common: true,
    paragraph: '<w:keepNext/><w:spacing w:before="0" w:after="240" w:line="240" w:lineRule="auto"/>',
    text: `<w:b/><w:bCs/>${size(44)}`,
  },
  ...HEADING_SIZES.map((halves, at) => ({
    id: `Heading${at + 1}`,
    name: `heading ${at + 1}`,
    next: 'Normal',
    common: true,
    paragraph: `<w:keepNext/><w:keepLines/>${spacing(at === 0 ? 400 : 280, 120)}<w:outlineLvl w:val="${at}"/>`,
    text: `<w:b/><w:bCs/>${size(halves)}`,
  })),
  {
    id: 'Quote',
    name: 'Quote',
    common: true,
    paragraph: `<w:pBdr>${border('left', 10)}</w:pBdr>`,
    text: color(SOFT),
  },
  { id: 'Question', name: 'Question', base: 'Quote', paragraph: '<w:ind w:left="240"/>' },
  {
    id: 'Notice',
    name: 'Notice',
    paragraph: `<w:pBdr>${['top', 'left', 'bottom', 'right'].map((side) => border(side, 6)).join('')}</w:pBdr>`,
  },
  {
    id: 'Code',
    name: 'Code',
    paragraph: `<w:shd w:val="clear" w:color="auto" w:fill="F3F4F5"/><w:spacing w:before="120" w:after="160" w:line="252" w:lineRule="auto"/>`,
    text: `${MONOSPACE}<w:noProof/>${size(19)}`,
  },
  { id: 'CodeText', name: 'Code Text', kind: 'character', text: `${MONOSPACE}<w:noProof/>${size(20)}` },
  { id: 'Hyperlink', name: 'Hyperlink', kind: 'character', text: `${color(ACCENT)}<w:u w:val="single"/>` },
  { id: 'Rule', name: 'Rule', paragraph: `<w:pBdr>${border('bottom')}</w:pBdr>${spacing(0, 240)}` },
  { id: 'ListParagraph', name: 'List Paragraph', common: true, paragraph: spacing(0, 70) },
  { id: 'Cell', name: 'Cell', paragraph: spacing(40, 40), text: size(20) },
  {
    id: 'AfterTable',
    name: 'After Table',
    paragraph: '<w:spacing w:before="0" w:after="0" w:line="160" w:lineRule="exact"/>',
  },
  { id: 'Source', name: 'Source', paragraph: '<w:ind w:left="567" w:hanging="567"/>', text: size(20) },
  { id: 'Imprint', name: 'Imprint', paragraph: spacing(400, 0), text: `${color(SOFT)}${size(20)}` },
  {
    id: 'FootnoteText',
    name: 'footnote text',
    paragraph: '<w:spacing w:before="0" w:after="40" w:line="240" w:lineRule="auto"/>',
    text: size(18),
  },
  {
    id: 'FootnoteReference',
    name: 'footnote reference',
    kind: 'character',
    text: '<w:vertAlign w:val="superscript"/>',
  },
  { id: 'Footer', name: 'footer', paragraph: '<w:jc w:val="center"/>', text: `${color(SOFT)}${size(18)}` },
  {
    id: 'ReportTable',
    name: 'Report Table',
    kind: 'table',
    table: `<w:tblBorders>${border('top')}${border('bottom')}${border('insideH')}</w:tblBorders><w:tblCellMar><w:left w:w="90" w:type="dxa"/><w:right w:w="90" w:type="dxa"/></w:tblCellMar>`,
  },
];

function styleElement({ id, name, kind = 'paragraph', base, next, common, ...elements }: Style): string {
  const parent = base ?? (kind === 'paragraph' ? 'Normal' : undefined);
  return [
    `<w:style w:type="${kind}" w:styleId="${id}"><w:name w:val="${name}"/>`,
    parent === undefined ? '' : `<w:basedOn w:val="${parent}"/>`,
    next === undefined ? '' : `<w:next w:val="${next}"/>`,
    common ? '<w:qFormat/>' : '',
    elements.paragraph === undefined ? '' : `<w:pPr>${elements.paragraph}</w:pPr>`,
    elements.text === undefined ? '' : `<w:rPr>${elements.text}</w:rPr>`,
    elements.table === undefined ? '' : `<w:tblPr>${elements.table}</w:tblPr>`,
    '</w:style>',
  ].join('');
}

const DEFAULTS = `<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:cs="Arial"/>${size(22)}</w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="140" w:line="276" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>`;
const NORMAL =
  '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:qFormat/></w:style>';

/** The part `styles.xml`. It uses the names of Word's built-in styles, so that users can change those. */
export function stylesPart(): string {
  return xmlPart(`<w:styles ${WORD_NAMESPACES}>${DEFAULTS}${NORMAL}${STYLES.map(styleElement).join('')}</w:styles>`);
}
