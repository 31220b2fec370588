import { ACCENTS, FUNCTIONS, inFace, isFace, LARGE, LETTERS, LIMITS, OPERATORS, SPACES, TABLES } from './symbols.js';

/** Longer or deeper formulas are shown as source. */
const MAX_LENGTH = 2000;
const MAX_DEPTH = 30;

const TOKEN = /\\(?:operatorname\*|[a-zA-Z]+|[\s\S])|[{}^_&]|\s+|\d+(?:\.\d+)?|[^\\]/gu;
const IGNORED = new Set(
  'displaystyle textstyle scriptstyle limits nolimits nonumber notag boxed big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr mathopen mathclose mathrel mathbin mathord'.split(
    ' ',
  ),
);
const TEXT = new Set(
  'text textrm textit textbf textsf texttt mbox mathrm mathit operatorname operatorname* rm'.split(' '),
);

/**
 * Converts the LaTeX that reports use to MathML, `{tag, attributes, children}`, whose children are texts or such elements.
 * Undefined for anything unsupported, because the whole source says more than a part of the formula.
 */
export function mathOf(source, { display }) {
  if (source.length > MAX_LENGTH) return undefined;
  try {
    const parser = new Parser(source.match(TOKEN) ?? [], display);
    const children = parser.row();
    return node('math', children, { display: display ? 'block' : 'inline', alttext: source });
  } catch (thrown) {
    if (thrown instanceof Unsupported) return undefined;
    throw thrown;
  }
}

class Unsupported extends Error {}

const node = (tag, children, attributes = {}) => ({ tag, attributes, children });
const sign = (text, attributes = {}) => node('mo', [text], attributes);
const rowOf = (children) => (children.length === 1 ? children[0] : node('mrow', children));
const fence = (text, stretchy) => sign(text, { fence: 'true', stretchy: String(stretchy) });

class Parser {
  #tokens;
  #at = 0;
  #depth = 0;
  #display;

  constructor(tokens, display) {
    this.#tokens = tokens;
    this.#display = display;
  }

  /** Parses everything up to a token for which `isEnd` is true, which is not consumed; without `isEnd`, up to the end. */
  row(isEnd) {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Unsupported();
    const children = [];
    for (;;) {
      this.#skipSpace();
      const token = this.#tokens[this.#at];
      if (token === undefined && isEnd) throw new Unsupported();
      if (token === undefined || isEnd?.(token)) break;
      if (token === '}') throw new Unsupported();
      const child = this.#scripted();
      if (child) children.push(child);
    }
    this.#depth -= 1;
    return children;
  }

  #skipSpace() {
    while (/^\s/.test(this.#tokens[this.#at] ?? '')) this.#at += 1;
  }

  /** Parses an atom with its subscript and superscript. */
  #scripted() {
    const start = this.#tokens[this.#at];
    const base = start === '^' || start === '_' ? node('mrow', []) : this.#atom();
    let sub;
    let sup;
    for (;;) {
      this.#skipSpace();
      const token = this.#tokens[this.#at];
      if (token === "'") {
        this.#at += 1;
        sup = rowOf([...(sup ? [sup] : []), sign('′')]);
      } else if (token === '_' && !sub) sub = this.#script();
      else if (token === '^' && !(sup && sup.tag !== 'mo')) sup = rowOf([...(sup ? [sup] : []), this.#script()]);
      else if (token === '_' || token === '^') throw new Unsupported();
      else break;
    }
    if (!sub && !sup) return base;
    const hasLimits = base?.limits && this.#display;
    const children = [base ?? node('mrow', []), ...(sub ? [sub] : []), ...(sup ? [sup] : [])];
    if (sub && sup) return node(hasLimits ? 'munderover' : 'msubsup', children);
    if (sub) return node(hasLimits ? 'munder' : 'msub', children);
    return node(hasLimits ? 'mover' : 'msup', children);
  }

  #script() {
    this.#at += 1;
    return this.#argument();
  }

  /** Parses a group in braces, or a single atom. */
  #argument() {
    this.#skipSpace();
    const token = this.#tokens[this.#at];
    if (token === undefined || token === '}') throw new Unsupported();
    if (/^\d./.test(token)) this.#tokens.splice(this.#at, 1, token[0], token.slice(1));
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Unsupported();
    const argument = this.#atom() ?? node('mrow', []);
    this.#depth -= 1;
    return argument;
  }

  #atom() {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token === '{') {
      const children = this.row((each) => each === '}');
      this.#at += 1;
      return node('mrow', children);
    }
    if (token.startsWith('\\')) return this.#command(token.slice(1));
    if (/^\d/.test(token)) return node('mn', [token]);
    if (/^\p{L}/u.test(token)) return node('mi', [token]);
    if (token === '~') return space(0.25);
    if (token === '&' || token === '%' || token === '#' || token === '$') throw new Unsupported();
    if (/^[()[\]|]$/.test(token)) return fence(token, false);
    return sign({ '-': '−', '*': '∗' }[token] ?? token);
  }

  #command(name) {
    if (LETTERS.has(name)) return node('mi', [LETTERS.get(name)]);
    if (OPERATORS.has(name)) return sign(OPERATORS.get(name), { stretchy: 'false' });
    if (LARGE.has(name)) return { ...sign(LARGE.get(name)), limits: !name.endsWith('int') };
    if (FUNCTIONS.has(name)) return node('mi', [name]);
    if (LIMITS.has(name)) return { ...node('mi', [name.replace(/^(arg|lim)(?=.{3})/, '$1 ')]), limits: true };
    if (SPACES.has(name)) return space(SPACES.get(name));
    if (/^[%$#&_{}|]$/.test(name)) return sign(name === '|' ? '‖' : name, { stretchy: 'false' });
    if (IGNORED.has(name)) return undefined;
    if (TEXT.has(name)) return this.#text(name);
    if (isFace(name)) return withFace(this.#argument(), name);
    if (ACCENTS.has(name))
      return node(
        'mover',
        [this.#argument(), sign(ACCENTS.get(name), { stretchy: String(/^(wide|over)/.test(name)) })],
        { accent: 'true' },
      );
    return this.#construction(name);
  }

  #construction(name) {
    switch (name) {
      case 'frac':
      case 'dfrac':
      case 'tfrac':
      case 'cfrac':
        return node('mfrac', [this.#argument(), this.#argument()]);
      case 'binom': {
        const parts = node('mfrac', [this.#argument(), this.#argument()], { linethickness: '0' });
        return node('mrow', [fence('(', true), parts, fence(')', true)]);
      }
      case 'sqrt':
        return this.#root();
      case 'underline':
        return node('munder', [this.#argument(), sign('_', { stretchy: 'true' })]);
      case 'underbrace':
      case 'overbrace': {
        const tag = name === 'underbrace' ? 'munder' : 'mover';
        const brace = sign(name === 'underbrace' ? '⏟' : '⏞', { stretchy: 'true' });
        return { ...node(tag, [this.#argument(), brace]), limits: true };
      }
      case 'overset':
      case 'stackrel': {
        const above = this.#argument();
        return node('mover', [this.#argument(), above]);
      }
      case 'underset': {
        const below = this.#argument();
        return node('munder', [this.#argument(), below]);
      }
      case 'left':
        return this.#fenced();
      case 'begin':
        return this.#environment();
      case 'tag':
        return node('mtext', [`\u2003(${this.#words()})`]);
      case 'pmod':
        return node('mrow', [sign('('), node('mi', ['mod']), space(0.25), this.#argument(), sign(')')]);
      case 'bmod':
        return sign('mod');
      default:
        throw new Unsupported();
    }
  }

  #root() {
    this.#skipSpace();
    if (this.#tokens[this.#at] !== '[') return node('msqrt', [this.#argument()]);
    this.#at += 1;
    const index = this.row((token) => token === ']');
    this.#at += 1;
    return node('mroot', [this.#argument(), rowOf(index)]);
  }

  #fenced() {
    const open = this.#delimiter();
    const inner = this.row((token) => token === '\\right');
    this.#at += 1;
    return node('mrow', [fence(open, true), ...inner, fence(this.#delimiter(), true)]);
  }

  #delimiter() {
    this.#skipSpace();
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token === '.') return '';
    if (/^[()[\]|/<>]$/.test(token ?? '')) return { '<': '⟨', '>': '⟩' }[token] ?? token;
    const name = token?.slice(1);
    if (/^[{}|]$/.test(name ?? '')) return name === '|' ? '‖' : name;
    if (OPERATORS.has(name)) return OPERATORS.get(name);
    throw new Unsupported();
  }

  #environment() {
    const name = this.#words();
    const fences = TABLES.get(name);
    if (!fences) throw new Unsupported();
    if (name === 'array') this.#words();
    const rows = [[]];
    for (;;) {
      const cell = this.row((token) => token === '&' || token === '\\\\' || token === '\\end');
      rows.at(-1).push(node('mtd', cell));
      const token = this.#tokens[this.#at];
      this.#at += 1;
      if (token === undefined) throw new Unsupported();
      if (token === '\\\\') rows.push([]);
      else if (token === '\\end') break;
    }
    if (this.#words() !== name) throw new Unsupported();
    const last = rows.at(-1);
    if (rows.length > 1 && last.length === 1 && last[0].children.length === 0) rows.pop();
    const aligned = /^(align|split)/.test(name);
    const table = node(
      'mtable',
      rows.map((cells) => node('mtr', cells)),
      {
        class: aligned ? 'aligned' : name === 'cases' ? 'cases' : 'matrix',
        ...(aligned && { displaystyle: 'true' }),
      },
    );
    const [open, close] = fences;
    return node('mrow', [...(open ? [fence(open, true)] : []), table, ...(close ? [fence(close, true)] : [])]);
  }

  #text(name) {
    const words = this.#words();
    if (name.startsWith('operatorname') || (name === 'mathrm' && /^\p{L}+$/u.test(words)))
      return node('mi', [words], { mathvariant: 'normal' });
    return node('mtext', [words.replace(/^ | $/g, '\u00a0')]);
  }

  /** Reads the text in braces. */
  #words() {
    this.#skipSpace();
    if (this.#tokens[this.#at] !== '{') throw new Unsupported();
    this.#at += 1;
    let text = '';
    for (; this.#tokens[this.#at] !== '}'; this.#at += 1) {
      const token = this.#tokens[this.#at];
      if (token === undefined || token === '{' || /^\\[a-zA-Z]/.test(token)) throw new Unsupported();
      text += token.replace(/^\\(?=.)/, '');
    }
    this.#at += 1;
    return text;
  }
}

function space(em) {
  return node('mspace', [], { width: `${em}em` });
}

/** Changes the letters and digits of an element to another typeface. */
function withFace(element, name) {
  if (typeof element === 'string') return Array.from(element, (letter) => inFace(letter, name)).join('');
  return { ...element, children: element.children.map((child) => withFace(child, name)) };
}
