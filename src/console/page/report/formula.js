import { FORMULA_OPTIONS } from '../formula/formulas.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/preact.js';

/** The library that draws formulas, once a report has one. */
let temml;

/** A formula as MathML; as written until the library is loaded, and if it does not understand the formula. */
export function Formula({ source, display }) {
  const place = useRef(null);
  const [library, setLibrary] = useState(temml);
  useEffect(() => {
    if (library) return;
    const ready = import('../lib/temml.js').then((loaded) => {
      temml = loaded.default;
      setLibrary(temml);
    });
    // Without it, formulas stay as written.
    ready.catch(() => {});
  }, []);
  const math = useMemo(() => library && mathOf(source, display), [library, source, display]);
  useLayoutEffect(() => {
    if (math) place.current.replaceChildren(math);
  }, [math]);
  if (!math) return html`<code class="formula" data-display=${display} dir="ltr">${source}</code>`;
  return html`<span class="formula" data-display=${display} dir="ltr" ref=${place} tabindex=${display ? 0 : undefined}></span>`;
}

/** The MathML element of a formula, built node by node; undefined if it is not understood. */
function mathOf(source, display) {
  const place = document.createElement('span');
  try {
    temml.render(source, place, { ...FORMULA_OPTIONS, displayMode: display });
  } catch {
    return undefined;
  }
  const math = place.firstElementChild;
  math.setAttribute('alttext', source);
  return math;
}
