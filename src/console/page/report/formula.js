import { mathOf } from '../formula/latex.js';
import { html, useLayoutEffect, useMemo, useRef } from '../lib/preact.js';

const MATHML = 'http://www.w3.org/1998/Math/MathML';

/** A formula as MathML; one that is not understood is shown as written. */
export function Formula({ source, display }) {
  const place = useRef(null);
  const math = useMemo(() => mathOf(source, { display }), [source, display]);
  useLayoutEffect(() => {
    if (math) place.current.replaceChildren(elementOf(math));
  }, [math]);
  if (!math) return html`<code class="formula" data-display=${display} dir="ltr">${source}</code>`;
  return html`<span class="formula" data-display=${display} dir="ltr" ref=${place} tabindex=${display ? 0 : undefined}></span>`;
}

/** Builds MathML elements. Tags and attributes come from this page's own parser; the source is only text in them. */
function elementOf(made) {
  if (typeof made === 'string') return document.createTextNode(made);
  const element = document.createElementNS(MATHML, made.tag);
  for (const [name, value] of Object.entries(made.attributes)) element.setAttribute(name, value);
  element.append(...made.children.map(elementOf));
  return element;
}
