import { collapseSpaces, toSingleLine } from '../../../../base/text.ts';
import { type HtmlElement, type HtmlNode, lineOf, textOf } from '../html/tree.ts';

/** How deep formulas are read; what is nested deeper is cut off. */
const MAX_DEPTH = 60;

/** Symbols and their names in LaTeX. */
const OPERATORS: ReadonlyMap<string, string> = new Map([
  ...named(`
  ∑ sum   ∏ prod   ∫ int   ∬ iint   ∮ oint   ∂ partial   ∇ nabla   ∞ infty   ± pm   ∓ mp   × times
  ÷ div   · cdot   ⋅ cdot   ≤ leq  ≥ geq  ≠ neq  ≈ approx   ≡ equiv   ∼ sim   ≃ simeq   ∝ propto
  → to   ← leftarrow   ↔ leftrightarrow   ⇒ Rightarrow   ⇐ Leftarrow   ⇔ Leftrightarrow   ↦ mapsto
  ∈ in   ∉ notin   ⊂ subset   ⊆ subseteq   ⊃ supset   ∪ cup   ∩ cap   ∅ emptyset   ∀ forall
  ∃ exists   ¬ neg   ∧ land   ∨ lor   ⊕ oplus   ⊗ otimes   ∘ circ   √ sqrt   … dots   ⋯ cdots
  ⋮ vdots   ⟨ langle   ⟩ rangle   ‖ |   ∣ mid   ℝ mathbb{R}   ℕ mathbb{N}   ℤ mathbb{Z}
  ℚ mathbb{Q}   ℂ mathbb{C}   ℏ hbar   ℓ ell   α alpha   β beta   γ gamma   δ delta   ε epsilon
  ϵ epsilon   ζ zeta   η eta   θ theta   ι iota   κ kappa   λ lambda   μ mu   ν nu   ξ xi   π pi
  ρ rho   σ sigma   τ tau   υ upsilon   φ varphi   ϕ phi   χ chi   ψ psi   ω omega   Γ Gamma
  Δ Delta   Θ Theta   Λ Lambda   Ξ Xi   Π Pi   Σ Sigma   Φ Phi   Ψ Psi   Ω Omega
  `),
  ['\\', '\\backslash'],
  ['∗', '*'],
  ['−', '-'],
  ['′', "'"],
  ['°', '^\\circ'],
]);

/** Accents over one or several letters. */
export const ACCENTS = named(`
  ^ hat   ˆ hat   ~ tilde   ˜ tilde   ¯ bar   ˉ bar   → vec   \u20d7 vec   ˙ dot   ¨ ddot
  \u0302 hat   \u0303 tilde   \u0304 bar   \u0305 overline   \u0307 dot   \u0308 ddot
  ‾ overline   _ underline   ⏞ overbrace   ⏟ underbrace
`);

export const FUNCTIONS = new Set(
  'sin cos tan cot sec csc log ln exp lim max min sup inf det dim ker gcd arg deg Pr'.split(' '),
);

/**
 * Translates presentation MathML to LaTeX. The package mathml-to-latex is no substitute: it splits `exp` into letters,
 * writes limits of sums with `\underset`, and drops what an unclosed `<mspace>` contains.
 */
export function latexOf(math: HtmlElement | undefined): string {
  return math ? latex(math, 0).trim() : '';
}

function latex(node: HtmlNode, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  if (typeof node === 'string') return latexText(toSingleLine(node));
  const parts = node.elements;
  const part = (at: number) => (parts[at] ? latex(parts[at], depth + 1).trim() : '');
  const all = () => joinLatex(parts.map((child) => latex(child, depth + 1)));
  switch (node.name.replace(/^\w{1,4}:/, '')) {
    case 'mi':
      return identifier(node);
    case 'mn':
    case 'mo':
      return latexText(lineOf(node));
    case 'mtext':
    case 'ms':
      return lineOf(node) === '' ? ' ' : `\\text{${collapseSpaces(textOf(node)).replace(/[{}#%&$_]/g, '\\$&')}}`;
    case 'mspace':
      // The HTML parser takes what follows `<mspace/>` for its content.
      return ` ${all()}`;
    case 'mfrac':
      return node.attribute('linethickness') === '0'
        ? `\\binom{${part(0)}}{${part(1)}}`
        : `\\frac{${part(0)}}{${part(1)}}`;
    case 'msqrt':
      return `\\sqrt{${all()}}`;
    case 'mroot':
      return `\\sqrt[${part(1)}]{${part(0)}}`;
    case 'msup':
      return `${scriptBase(part(0))}^${brace(part(1))}`;
    case 'msub':
      return `${scriptBase(part(0))}_${brace(part(1))}`;
    case 'msubsup':
    case 'munderover':
      return `${scriptBase(part(0))}_${brace(part(1))}^${brace(part(2))}`;
    case 'munder':
      return accent(parts[1], part(0)) ?? `${scriptBase(part(0))}_${brace(part(1))}`;
    case 'mover':
      return accent(parts[1], part(0)) ?? `${scriptBase(part(0))}^${brace(part(1))}`;
    case 'menclose': {
      const side = /^(?:top|bottom)$/.exec(node.attribute('notation'))?.[0];
      return side === undefined ? all() : `\\${side === 'top' ? 'over' : 'under'}line{${all()}}`;
    }
    case 'mfenced':
      return fenced(
        node,
        parts.map((_, at) => part(at)),
      );
    case 'mmultiscripts':
      return withScripts(parts, part);
    case 'mtable':
      return `\\begin{matrix} ${parts.map((row) => latex(row, depth + 1)).join(' \\\\ ')} \\end{matrix}`;
    case 'mtr':
    case 'mlabeledtr':
      return parts.map((_, at) => part(at)).join(' & ');
    case 'annotation':
    case 'annotation-xml':
    case 'mphantom':
      return '';
    default:
      return parts.length === 0 ? latexText(lineOf(node)) : all();
  }
}

function fenced(
  { attributes: { open = '(', close = ')', separators = ',' } }: HtmlElement,
  parts: readonly string[],
): string {
  const marks = [...separators.replace(/\s/g, '')].map((mark) => `${latexText(mark)} `);
  const inner = parts.map((text, at) => (at === 0 ? '' : (marks[at - 1] ?? marks.at(-1) ?? '')) + text);
  return `${latexText(open)}${inner.join('')}${latexText(close)}`;
}

/** A base with pairs of a subscript and a superscript after it and, behind `mprescripts`, before it. */
function withScripts(parts: readonly HtmlElement[], part: (at: number) => string): string {
  const middle = parts.findIndex(({ name }) => /^(?:\w+:)?mprescripts$/.test(name));
  const end = middle < 0 ? parts.length : middle;
  const pairs = (from: number, to: number) => {
    let text = '';
    for (let at = from; at < to; at += 2) {
      text += part(at) === '' ? '' : `_${brace(part(at))}`;
      text += at + 1 >= to || part(at + 1) === '' ? '' : `^${brace(part(at + 1))}`;
    }
    return text;
  };
  const before = pairs(end + 1, parts.length);
  return `${before === '' ? '' : `{}${before}`}${scriptBase(part(0))}${pairs(1, end)}`;
}

function identifier(node: HtmlElement): string {
  const name = lineOf(node);
  if (FUNCTIONS.has(name)) return `\\${name}`;
  if ([...name].length > 1 && /^\p{L}+$/u.test(name) && !OPERATORS.has(name)) return `\\mathrm{${name}}`;
  const bold = /bold/.test(node.attribute('mathvariant'));
  return bold ? `\\mathbf{${latexText(name)}}` : latexText(name);
}

/** Replaces symbols with their LaTeX names and drops invisible operators. */
export function latexText(text: string): string {
  const named = [...text].map((character) => {
    if (/[\u2061-\u2064\u200b]/.test(character)) return '';
    const name = OPERATORS.get(character);
    if (name !== undefined) return name;
    return /[{}#%&$_]/.test(character) ? `\\${character}` : character;
  });
  return joinLatex(named);
}

/** Joins pieces, with a space where a command would run into a letter. */
export function joinLatex(pieces: readonly string[]): string {
  let text = '';
  // A separate string, because a test of the growing text would cost as much as its length.
  let end = '';
  for (const piece of pieces) {
    if (piece === '') continue;
    const needsSpace = /\\[a-zA-Z]+$/.test(end) && /^[a-zA-Z]/.test(piece);
    const added = (needsSpace ? ' ' : '') + piece;
    text += added;
    end = (end + added).slice(-20);
  }
  return text;
}

/** Puts braces around the base of a script unless it is one symbol; one with a script of its own may have no second one. */
export function scriptBase(text: string): string {
  const isOne = /^\\[a-zA-Z]{1,20}$|^[\p{L}\p{N}]$|[)\]]$/u.test(text) || (text.endsWith('}') && !/[_^]/.test(text));
  return text.length <= 1 || isOne ? text : `{${text}}`;
}

/** Puts braces around a text unless it is one character. */
export function brace(text: string): string {
  return [...text].length === 1 ? text : `{${text}}`;
}

function accent(mark: HtmlElement | undefined, over: string): string | undefined {
  const command = ACCENTS.get(lineOf(mark));
  return command === undefined ? undefined : `${command}{${over}}`;
}

/** Parses a table of symbols and names into a map from `∑` to `\sum`. */
function named(table: string): Map<string, string> {
  const words = table.trim().split(/\s+/);
  return new Map(words.flatMap((sign, at) => (at % 2 === 0 ? [[sign, `\\${words[at + 1]}`]] : [])));
}
