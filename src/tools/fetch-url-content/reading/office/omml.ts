import { ACCENTS, base, characters, FUNCTIONS, group, join } from '../math/mathml.ts';
import type { XmlEvent } from './xml-events.ts';

/** An element of a formula that is being read. */
interface Part {
  name: string;
  /** What its parts are in LaTeX, with the names of their elements. */
  parts: { name: string; latex: string }[];
  /** What its properties say, by the names of their elements. */
  says: Map<string, string>;
}

/** Elements that a line of text does not hold. */
const STRUCTURE = /^m:(?:f|ssup|ssub|ssubsup|spre|rad|nary|d|m|eqarr|acc|bar|limlow|limupp)$/;
/** Whether a formula begins here (ECMA-376, part 1, 22.1). */
function beginsFormula(event: XmlEvent): boolean {
  return event.kind === 'open' && (event.name === 'm:omath' || event.name === 'm:omathpara');
}

/** A piece of a document, or a formula as it stands in Markdown: LaTeX, or a line of text as it is. */
export type EventOrFormula = XmlEvent | { kind: 'formula'; text: string };

/** The events of a document; each formula is one. */
export function* withFormulas(events: Iterable<XmlEvent>): Generator<EventOrFormula> {
  let formula: FormulaReader | undefined;
  for (const event of events) {
    if (beginsFormula(event)) formula ??= new FormulaReader();
    if (!formula) {
      yield event;
      continue;
    }
    const text = formula.take(event);
    if (text === undefined) continue;
    formula = undefined;
    yield { kind: 'formula', text };
  }
}

/** Reads a formula from the event that begins it to the one that ends it. */
class FormulaReader {
  readonly #stack: Part[] = [];
  #inText = false;
  #isText = true;
  #plain = '';

  /** The formula as it stands in Markdown, where this event ends it. */
  take(event: XmlEvent): string | undefined {
    const open = this.#stack.at(-1);
    if (event.kind === 'text') {
      if (!this.#inText) return undefined;
      this.#plain += event.text;
      const text = event.text.replace(/[\u2061-\u2064]/g, '');
      open?.parts.push({ name: 'text', latex: FUNCTIONS.has(text) ? `\\${text}` : characters(text) });
      return undefined;
    }
    if (event.name === 'm:t') this.#inText = event.kind === 'open';
    if (event.kind === 'open') {
      if (STRUCTURE.test(event.name)) this.#isText = false;
      // Properties stand in an element of their own within what they are about.
      if (open?.name.endsWith('pr')) this.#stack.at(-2)?.says.set(event.name, event.attribute('m:val'));
      this.#stack.push({ name: event.name, parts: [], says: new Map() });
      return undefined;
    }
    const ended = this.#stack.pop();
    if (!ended) return '';
    const latex = latexOf(ended);
    const outer = this.#stack.at(-1);
    if (outer) {
      if (latex !== '') outer.parts.push({ name: ended.name, latex });
      return undefined;
    }
    if (this.#isText || latex.trim() === '') return this.#plain.replace(/[\u2061-\u2064]/g, '');
    return ended.name === 'm:omathpara' ? `$$${latex.trim()}$$` : `$${latex.trim()}$`;
  }
}

function latexOf({ name, parts, says }: Part): string {
  const all = (of: string) => parts.filter((part) => part.name === of).map(({ latex }) => latex.trim());
  const the = (of: string) => all(`m:${of}`)[0] ?? '';
  const below = () => (the('sub') === '' ? '' : `_${group(the('sub'))}`);
  const above = () => (the('sup') === '' ? '' : `^${group(the('sup'))}`);
  switch (name) {
    case 'm:f':
      return `\\${says.get('m:type') === 'noBar' ? 'binom' : 'frac'}{${the('num')}}{${the('den')}}`;
    case 'm:ssup':
    case 'm:ssub':
    case 'm:ssubsup':
      return `${base(the('e'))}${below()}${above()}`;
    case 'm:spre':
      return `{}${below()}${above()}${the('e')}`;
    case 'm:rad':
      return `\\sqrt${the('deg') === '' ? '' : `[${the('deg')}]`}{${the('e')}}`;
    case 'm:nary':
      return `${characters(says.get('m:chr') ?? '∫')}${below()}${above()} ${the('e')}`;
    case 'm:d':
      return fenced(all('m:e'), says);
    case 'm:m':
      return `\\begin{matrix} ${all('m:mr').join(' \\\\ ')} \\end{matrix}`;
    case 'm:mr':
      return all('m:e').join(' & ');
    case 'm:eqarr':
      return all('m:e').join(' \\\\ ');
    case 'm:func':
      return `${the('fname')} ${the('e')}`;
    case 'm:acc':
      return `${ACCENTS.get(says.get('m:chr') ?? '\u0302') ?? '\\overline'}{${the('e')}}`;
    case 'm:bar':
      return `\\${says.get('m:pos') === 'bot' ? 'under' : 'over'}line{${the('e')}}`;
    case 'm:limlow':
      return `${base(the('e'))}_${group(the('lim'))}`;
    case 'm:limupp':
      return `${base(the('e'))}^${group(the('lim'))}`;
    default:
      return join(parts.map(({ latex }) => latex));
  }
}

function fenced(parts: readonly string[], says: ReadonlyMap<string, string>): string {
  const mark = (of: string, usual: string) => characters(says.get(`m:${of}chr`) ?? usual);
  return `${mark('beg', '(')}${parts.join(mark('sep', '|'))}${mark('end', ')')}`;
}
