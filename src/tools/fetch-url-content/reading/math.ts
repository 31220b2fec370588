import { type DomDocument, type DomElement, type DomNode, isElement, TEXT } from './dom.ts';

/** Formulas are short; what is longer is none. In characters. */
const MAX_LENGTH = 5000;
const MAX_DEPTH = 60;

/** Marks an element whose text is a finished formula, `$...$` or `$$...$$`. */
export const FORMULA = 'data-formula';

/**
 * Puts LaTeX in the place of every formula: the source that KaTeX, MathJax, MediaWiki and LaTeXML keep beside what they
 * draw, or a translation of MathML. Without it, formulas vanish or fall apart into their letters.
 */
export function convertFormulas(root: DomElement, document: DomDocument): void {
  const put = (element: DomElement, latex: string, isDisplay: boolean) => {
    const source = tidy(latex);
    if (source === '' || source.length > MAX_LENGTH) return;
    const formula = document.createElement('code');
    formula.setAttribute(FORMULA, '');
    formula.textContent = isDisplay ? `$$${source}$$` : `$${source}$`;
    element.replaceWith(formula);
  };
  // The whole of what a renderer made, so that its drawing goes with its source.
  for (const made of [...root.querySelectorAll(RENDERED)]) {
    if (!root.contains(made) || made.querySelector(`[${FORMULA}]`)) continue;
    const latex = sourceOf(made) || latexOf(made.querySelector('math'));
    if (latex !== '') put(made, latex, isDisplay(made));
  }
  for (const math of [...root.querySelectorAll('math')]) {
    if (root.contains(math)) put(math, sourceOf(math) || latexOf(math), isDisplay(math));
  }
  // Drawings of formulas whose source is their description: MediaWiki, WordPress, old papers.
  for (const image of [...root.querySelectorAll('img')]) {
    const alt = image.getAttribute('alt')?.trim() ?? '';
    const names = `${image.className} ${image.parentElement?.className ?? ''}`;
    if (
      alt !== '' &&
      (MATH_IMAGE.test(names) ||
        /^\$.+\$$|\\(?:frac|sum|int|sqrt|mathbb|mathrm|alpha|beta)\b/.test(alt.slice(0, MAX_LENGTH)))
    ) {
      put(image, alt.replace(/^\$+|\$+$/g, ''), isDisplay(image));
    }
  }
}

/** What renderers wrap formulas in. The outer ones first. */
const RENDERED = [
  '.mwe-math-element',
  '.katex-display',
  '.katex',
  'mjx-container',
  '.MathJax_Display',
  '.MathJax',
  '.math-container',
  'script[type^="math/"]',
  '[data-latex]',
  '[data-tex]',
  '[data-formula-source]',
].join(', ');

const MATH_IMAGE = /(?:^|\s)(?:mwe-math|tex|latex|math|ltx_Math|equation)/i;

function isDisplay(element: DomElement): boolean {
  const math = element.tagName === 'MATH' ? element : element.querySelector('math');
  const type = element.getAttribute('type') ?? '';
  return (
    math?.getAttribute('display') === 'block' ||
    element.getAttribute('display') === 'true' ||
    /mode=display/.test(type) ||
    /(?:^|\s)(?:katex-display|MathJax_Display|mwe-math-element-block|display)(?:\s|$)/.test(element.className) ||
    element.closest('.katex-display, .MathJax_Display, .math-display, .ltx_equation, .displaymath') !== null
  );
}

/** The TeX that stands beside a formula, in one of the places where renderers keep it. */
function sourceOf(element: DomElement): string {
  const kept = [
    element.querySelector(
      'annotation[encoding="application/x-tex"], annotation[encoding="TeX"], annotation[encoding="LaTeX"]',
    )?.textContent,
    element.tagName === 'SCRIPT' ? element.textContent : undefined,
    ...['data-latex', 'data-tex', 'data-formula-source', 'alttext'].map((name) => element.getAttribute(name)),
    element.querySelector('[data-latex]')?.getAttribute('data-latex'),
    element.querySelector('math')?.getAttribute('alttext'),
    element
      .querySelector('img.mwe-math-fallback-image-inline, img.mwe-math-fallback-image-display, img[alt]')
      ?.getAttribute('alt'),
  ];
  return kept.find((each) => typeof each === 'string' && each.trim() !== '') ?? '';
}

function tidy(latex: string): string {
  const line = latex.replace(/\s+/g, ' ').trim();
  const inner = /^\{\\(?:displaystyle|textstyle) (.*)\}$/.exec(line)?.[1] ?? line;
  return inner.trim();
}

const OPERATORS: Readonly<Record<string, string>> = {
  '∑': '\\sum',
  '∏': '\\prod',
  '∫': '\\int',
  '∬': '\\iint',
  '∮': '\\oint',
  '∂': '\\partial',
  '∇': '\\nabla',
  '∞': '\\infty',
  '±': '\\pm',
  '∓': '\\mp',
  '×': '\\times',
  '÷': '\\div',
  '·': '\\cdot',
  '⋅': '\\cdot',
  '∗': '*',
  '≤': '\\le',
  '≥': '\\ge',
  '≠': '\\ne',
  '≈': '\\approx',
  '≡': '\\equiv',
  '∼': '\\sim',
  '≃': '\\simeq',
  '∝': '\\propto',
  '→': '\\to',
  '←': '\\leftarrow',
  '↔': '\\leftrightarrow',
  '⇒': '\\Rightarrow',
  '⇐': '\\Leftarrow',
  '⇔': '\\Leftrightarrow',
  '↦': '\\mapsto',
  '∈': '\\in',
  '∉': '\\notin',
  '⊂': '\\subset',
  '⊆': '\\subseteq',
  '⊃': '\\supset',
  '∪': '\\cup',
  '∩': '\\cap',
  '∅': '\\emptyset',
  '∀': '\\forall',
  '∃': '\\exists',
  '¬': '\\neg',
  '∧': '\\land',
  '∨': '\\lor',
  '⊕': '\\oplus',
  '⊗': '\\otimes',
  '∘': '\\circ',
  '√': '\\sqrt',
  '…': '\\dots',
  '⋯': '\\cdots',
  '⋮': '\\vdots',
  '⟨': '\\langle',
  '⟩': '\\rangle',
  '‖': '\\|',
  '∣': '\\mid',
  '−': '-',
  ℝ: '\\mathbb{R}',
  ℕ: '\\mathbb{N}',
  ℤ: '\\mathbb{Z}',
  ℚ: '\\mathbb{Q}',
  ℂ: '\\mathbb{C}',
  ℏ: '\\hbar',
  ℓ: '\\ell',
  '′': "'",
  '°': '^\\circ',
  α: '\\alpha',
  β: '\\beta',
  γ: '\\gamma',
  δ: '\\delta',
  ε: '\\epsilon',
  ϵ: '\\epsilon',
  ζ: '\\zeta',
  η: '\\eta',
  θ: '\\theta',
  ι: '\\iota',
  κ: '\\kappa',
  λ: '\\lambda',
  μ: '\\mu',
  ν: '\\nu',
  ξ: '\\xi',
  π: '\\pi',
  ρ: '\\rho',
  σ: '\\sigma',
  τ: '\\tau',
  υ: '\\upsilon',
  φ: '\\varphi',
  ϕ: '\\phi',
  χ: '\\chi',
  ψ: '\\psi',
  ω: '\\omega',
  Γ: '\\Gamma',
  Δ: '\\Delta',
  Θ: '\\Theta',
  Λ: '\\Lambda',
  Ξ: '\\Xi',
  Π: '\\Pi',
  Σ: '\\Sigma',
  Φ: '\\Phi',
  Ψ: '\\Psi',
  Ω: '\\Omega',
};

/** Accents over one letter or many. */
const ACCENTS: Readonly<Record<string, string>> = {
  '^': '\\hat',
  ˆ: '\\hat',
  '~': '\\tilde',
  '˜': '\\tilde',
  '¯': '\\bar',
  ˉ: '\\bar',
  '→': '\\vec',
  '⃗': '\\vec',
  '˙': '\\dot',
  '¨': '\\ddot',
  '‾': '\\overline',
  _: '\\underline',
  '⏞': '\\overbrace',
  '⏟': '\\underbrace',
};

const FUNCTIONS = new Set(
  'sin cos tan cot sec csc log ln exp lim max min sup inf det dim ker gcd arg deg Pr'.split(' '),
);

/** Presentation MathML as LaTeX; empty for what has no text. */
function latexOf(math: DomElement | null): string {
  return math ? latex(math, 0).trim() : '';
}

function latex(node: DomNode, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  if (node.nodeType === TEXT) return characters(node.textContent.replace(/\s+/g, ' ').trim());
  if (!isElement(node)) return '';
  const parts = [...node.children];
  const part = (at: number) => (parts[at] ? latex(parts[at], depth + 1).trim() : '');
  const all = () => join(parts.map((child) => latex(child, depth + 1)));
  switch (node.tagName.toLowerCase().replace(/^\w{1,3}:/, '')) {
    case 'mi':
      return identifier(node);
    case 'mn':
    case 'mo':
      return characters(node.textContent.trim());
    case 'mtext':
    case 'ms':
      return node.textContent.trim() === '' ? ' ' : `\\text{${node.textContent.replace(/\s+/g, ' ')}}`;
    case 'mspace':
      // Written `<mspace/>`, it takes what follows for its content.
      return ` ${all()}`;
    case 'mfrac':
      return node.getAttribute('linethickness') === '0'
        ? `\\binom{${part(0)}}{${part(1)}}`
        : `\\frac{${part(0)}}{${part(1)}}`;
    case 'msqrt':
      return `\\sqrt{${all()}}`;
    case 'mroot':
      return `\\sqrt[${part(1)}]{${part(0)}}`;
    case 'msup':
      return `${base(part(0))}^${group(part(1))}`;
    case 'msub':
      return `${base(part(0))}_${group(part(1))}`;
    case 'msubsup':
    case 'munderover':
      return `${base(part(0))}_${group(part(1))}^${group(part(2))}`;
    case 'munder':
      return accent(parts[1], part(0)) ?? `${base(part(0))}_${group(part(1))}`;
    case 'mover':
      return accent(parts[1], part(0)) ?? `${base(part(0))}^${group(part(1))}`;
    case 'mfenced':
      return `${node.getAttribute('open') ?? '('}${parts.map((_, at) => part(at)).join(', ')}${node.getAttribute('close') ?? ')'}`;
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
      return parts.length === 0 ? characters(node.textContent.trim()) : all();
  }
}

function identifier(node: DomElement): string {
  const name = node.textContent.trim();
  if (FUNCTIONS.has(name)) return `\\${name}`;
  if ([...name].length > 1 && /^\p{L}+$/u.test(name) && OPERATORS[name] === undefined) return `\\mathrm{${name}}`;
  const bold = /bold/.test(node.getAttribute('mathvariant') ?? '');
  return bold ? `\\mathbf{${characters(name)}}` : characters(name);
}

/** Symbols by their names. Invisible operators vanish. */
function characters(text: string): string {
  const named = [...text].map((character) => {
    if (/[\u2061-\u2064\u200b]/.test(character)) return '';
    const name = OPERATORS[character];
    if (name !== undefined) return name;
    return /[{}#%&$]/.test(character) ? `\\${character}` : character;
  });
  return join(named);
}

/** Pieces side by side; a space where a name would run into a letter. */
function join(pieces: readonly string[]): string {
  let text = '';
  for (const piece of pieces) {
    if (piece === '') continue;
    const runsOn = /\\[a-zA-Z]+$/.test(text.slice(-20)) && /^[a-zA-Z]/.test(piece);
    text += (runsOn ? ' ' : '') + piece;
  }
  return text;
}

function base(text: string): string {
  return text.length <= 1 || /^\\[a-zA-Z]{1,20}$|^[\p{L}\p{N}]$|[)\]}]$/u.test(text) ? text : `{${text}}`;
}

function group(text: string): string {
  return [...text].length === 1 ? text : `{${text}}`;
}

function accent(mark: DomElement | undefined, over: string): string | undefined {
  const command = ACCENTS[mark?.textContent.trim() ?? ''];
  return command === undefined ? undefined : `${command}{${over}}`;
}
