import { HtmlScanner } from '../../text/html-scanner.ts';
import { OpenElements } from './open-elements.ts';

/** HTML made fit for a tree, with what was taken out of it on the way. */
export interface PreparedHtml {
  /** A complete document with `<head>` and `<body>`, free of scripts and styles. */
  html: string;
  /** Contents of `application/ld+json` scripts. */
  structuredData: string[];
  /** How many tags it has, and how deep they are nested at most. */
  tags: number;
  depth: number;
}

/** Elements that go with all they contain. */
const DROPPED = new Set([
  'script',
  'style',
  'template',
  'svg',
  'iframe',
  'object',
  'canvas',
  'audio',
  'video',
  'select',
]);
/** Tags that browsers put where they belong; the parser used here does not. */
const STRUCTURE = new Set(['html', 'head', 'body', 'noscript', '!doctype']);
const HEAD = new Set(['meta', 'base', 'link']);
/** A tag longer than this loses its attributes: the parser's time grows with their number squared. */
const LONGEST_TAG = 16_384;
const MAX_STRUCTURED_DATA = 20;

/** One linear pass that takes out what is no text, sorts head from body and measures the rest. */
export function prepareHtml(html: string): PreparedHtml {
  const { head, body, ...about } = prepare(html, 0);
  return { html: `<!doctype html><html><head>${head}</head><body>${body}</body></html>`, ...about };
}

/** `depth`: how many documents are around this one; MathML in a script is one inside of another. */
function prepare(html: string, depth: number): Omit<PreparedHtml, 'html'> & { head: string; body: string } {
  const scanner = new HtmlScanner(html);
  const head: string[] = [];
  const body: string[] = [];
  const structuredData: string[] = [];
  let tags = 0;
  let deepest = 0;
  const open = new OpenElements();
  let hasTitle = false;

  for (let part = scanner.next(); part; part = scanner.next()) {
    if (part.kind === 'text') {
      body.push(part.text === '<' ? '&lt;' : part.text);
      continue;
    }
    const { closing } = part;
    // `<m:math>` of XHTML is `<math>`.
    const prefix = /^(?:m|mml):/.exec(part.name)?.[0] ?? '';
    const name = part.name.slice(prefix.length);
    const whole = html.slice(part.start, part.end);
    // The parser reads the tags that were read here, and none that it takes for something else.
    const isPlain = !closing && whole.length <= LONGEST_TAG && /[\s/>]/.test(whole[part.name.length + 1] ?? '');
    const tag = isPlain ? `<${whole.slice(1 + prefix.length)}` : `<${closing ? '/' : ''}${name}>`;
    if (STRUCTURE.has(name)) continue;
    if (!closing && name === 'title' && !hasTitle) {
      const title = scanner.skipTo('title');
      if (title !== undefined) head.push(`<title>${title.replaceAll('<', '&lt;')}</title>`);
      hasTitle = title !== undefined;
      continue;
    }
    if (HEAD.has(name)) {
      if (head.length < 500) head.push(tag);
      continue;
    }
    const isFormula = name === 'script' && !closing && /type\s?=\s?["']?math\//i.test(tag);
    if (isFormula) {
      const source = scanner.skipTo(name) ?? '';
      const isMathMl = /type\s?=\s?["']?math\/mml/i.test(tag);
      const drawn = isMathMl && depth === 0 ? prepare(source, 1) : undefined;
      const display = /mode=display/i.test(tag) ? ' display="true"' : '';
      if (drawn) {
        tags += drawn.tags;
        deepest = Math.max(deepest, drawn.depth);
        body.push(`<span data-formula-script="">${drawn.body}</span>`);
      } else if (source !== '' && !isMathMl) {
        body.push(`<code data-formula-script="" data-tex="${attributeText(source)}"${display}></code>`);
      }
      continue;
    }
    if (DROPPED.has(name)) {
      const inner = closing || tag.endsWith('/>') ? undefined : scanner.skipTo(name);
      const source = name === 'svg' ? /\sdata-latex="([^"]{1,5000})"/.exec(inner ?? '')?.[1] : undefined;
      if (source !== undefined && !source.includes('<')) body.push(`<span data-latex="${source}"></span>`);
      if (inner && /ld\+json/i.test(tag) && structuredData.length < MAX_STRUCTURED_DATA) structuredData.push(inner);
      continue;
    }
    tags += 1;
    if (closing) open.close(name);
    else open.open(name, { selfClosing: tag.endsWith('/>') });
    body.push(tag);
  }
  return {
    head: head.join(''),
    body: body.join(''),
    structuredData,
    tags,
    depth: Math.max(deepest, open.deepest),
  };
}

function attributeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
