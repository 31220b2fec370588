import { html, useEffect, useState } from '../lib/preact.js';
import { Failure } from './controls.js';

/** A part of the page that is loaded when it is looked at; `load` gives it, and `rest` goes to it. */
export function Later({ load, ...rest }) {
  const [{ View, error }, setLoaded] = useState({ View: null, error: null });
  useEffect(() => {
    const away = { code: 'unreachable', message: 'The gateway cannot be reached.' };
    void load().then(
      (found) => setLoaded({ View: found, error: null }),
      () => setLoaded({ View: null, error: away }),
    );
  }, []);
  // A browser does not ask again for a module that it could not load.
  return View ? html`<${View} ...${rest} />` : html`<${Failure} error=${error} onRetry=${() => location.reload()} />`;
}
