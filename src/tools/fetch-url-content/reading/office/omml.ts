import { ACCENTS, brace, FUNCTIONS, joinLatex, latexText, scriptBase } from '../math/mathml.ts';
import type { XmlEvent } from './xml-events.ts';

interface OpenElement {
  name: string;
  /** The LaTeX of its children, with their element names. */
  parts: { name: string; latex: string }[];
  /** Its properties, by element name. */
  properties: Map<string, string>;
}

/** Elements that make a formula more than a line of text. */
const STRUCTURE = /^m:(?:f|ssup|ssub|ssubsup|spre|rad|nary|d|m|eqarr|acc|bar|limlow|limupp)$/;
/** Whether an event begins a formula (ECMA-376, part 1, 22.1). */
function beginsFormula(event: XmlEvent): boolean {
  return event.kind === 'open' && (event.name === 'm:omath' || event.name === 'm:omathpara');
}

/** An event of a document, or a whole formula in Markdown: LaTeX, or plain text if it has no structure. */
export type EventOrFormula = XmlEvent | { kind: 'formula'; text: string };

/** Replaces the events of each formula with one event. */
export function* withFormulas(events: Iterable<XmlEvent>): Generator<EventOrFormula> {
  let formula: FormulaReader | undefined;
  for (const event of events) {
    if (beginsFormula(event)) formula ??= new FormulaReader();
    if (!formula) {
      yield event;
      continue;
    }
    const text = formula.handle(event);
    if (text === undefined) continue;
    formula = undefined;
    yield { kind: 'formula', text };
  }
}

/** Reads a formula, from the event that begins it to the one that ends it. */
class FormulaReader {
  readonly #stack: OpenElement[] = [];
  #inText = false;
  #isText = true;
  #plain = '';

  /** Takes an event; returns the formula in Markdown if the event ends it. */
  handle(event: XmlEvent): string | undefined {
    const open = this.#stack.at(-1);
    if (event.kind === 'text') {
      if (!this.#inText) return undefined;
      this.#plain += event.text;
      const text = event.text.replace(/[\u2061-\u2064]/g, '');
      open?.parts.push({ name: 'text', latex: FUNCTIONS.has(text) ? `\\${text}` : latexText(text) });
      return undefined;
    }
    if (event.name === 'm:t') this.#inText = event.kind === 'open';
    if (event.kind === 'open') {
      if (STRUCTURE.test(event.name)) this.#isText = false;
      // Properties are in a child element `...Pr` of the element that they describe.
      if (open?.name.endsWith('pr')) this.#stack.at(-2)?.properties.set(event.name, event.attribute('m:val'));
      this.#stack.push({ name: event.name, parts: [], properties: new Map() });
      return undefined;
    }
    const closed = this.#stack.pop();
    if (!closed) return '';
    const latex = latexOf(closed);
    const outer = this.#stack.at(-1);
    if (outer) {
      if (latex !== '') outer.parts.push({ name: closed.name, latex });
      return undefined;
    }
    if (this.#isText || latex.trim() === '') return this.#plain.replace(/[\u2061-\u2064]/g, '');
    return closed.name === 'm:omathpara' ? `$$${latex.trim()}$$` : `$${latex.trim()}$`;
  }
}

function latexOf({ name, parts, properties }: OpenElement): string {
  const all = (element: string) => parts.filter((part) => part.name === element).map(({ latex }) => latex.trim());
  const first = (element: string) => all(`m:${element}`)[0] ?? '';
  const below = () => (first('sub') === '' ? '' : `_${brace(first('sub'))}`);
  const above = () => (first('sup') === '' ? '' : `^${brace(first('sup'))}`);
  switch (name) {
    case 'm:f':
      return `\\${properties.get('m:type') === 'noBar' ? 'binom' : 'frac'}{${first('num')}}{${first('den')}}`;
    case 'm:ssup':
    case 'm:ssub':
    case 'm:ssubsup':
      return `${scriptBase(first('e'))}${below()}${above()}`;
    case 'm:spre':
      return `{}${below()}${above()}${first('e')}`;
    case 'm:rad':
      return `\\sqrt${first('deg') === '' ? '' : `[${first('deg')}]`}{${first('e')}}`;
    case 'm:nary':
      return `${latexText(properties.get('m:chr') ?? '∫')}${below()}${above()} ${first('e')}`;
    case 'm:d':
      return delimited(all('m:e'), properties);
    case 'm:m':
      return `\\begin{matrix} ${all('m:mr').join(' \\\\ ')} \\end{matrix}`;
    case 'm:mr':
      return all('m:e').join(' & ');
    case 'm:eqarr':
      return all('m:e').join(' \\\\ ');
    case 'm:func':
      return `${first('fname')} ${first('e')}`;
    case 'm:acc':
      return `${ACCENTS.get(properties.get('m:chr') ?? '\u0302') ?? '\\overline'}{${first('e')}}`;
    case 'm:bar':
      return `\\${properties.get('m:pos') === 'bot' ? 'under' : 'over'}line{${first('e')}}`;
    case 'm:limlow':
      return `${scriptBase(first('e'))}_${brace(first('lim'))}`;
    case 'm:limupp':
      return `${scriptBase(first('e'))}^${brace(first('lim'))}`;
    default:
      return joinLatex(parts.map(({ latex }) => latex));
  }
}

function delimited(parts: readonly string[], properties: ReadonlyMap<string, string>): string {
  const mark = (place: string, usual: string) => latexText(properties.get(`m:${place}chr`) ?? usual);
  return `${mark('beg', '(')}${parts.join(mark('sep', '|'))}${mark('end', ')')}`;
}
