import { html, useEffect, useState } from '../lib/preact.js';
import { Failure } from './controls.js';

/** A component that is loaded when it is first shown. `load` imports it; it gets `rest` as its props. */
export function Lazy({ load, ...rest }) {
  const [{ View, error }, setLoaded] = useState({ View: null, error: null });
  useEffect(() => {
    const unreachable = { code: 'unreachable', message: 'The gateway cannot be reached.' };
    void load().then(
      (found) => setLoaded({ View: found, error: null }),
      () => setLoaded({ View: null, error: unreachable }),
    );
  }, []);
  // Browsers do not retry a module that they could not load, so the page is reloaded.
  return View ? html`<${View} ...${rest} />` : html`<${Failure} error=${error} onRetry=${() => location.reload()} />`;
}
