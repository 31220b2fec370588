import { app } from '../app.js';
import { html, useLayoutEffect, useRef, useState } from '../lib/preact.js';
import { Button, Failure } from '../parts/controls.js';
import { copy } from '../parts/exports.js';
import { Icon } from '../parts/icons.js';
import { useAttempt } from '../parts/request-hooks.js';

/** The secret of a new or rotated key. The gateway stores only its hash, so it cannot be shown again. */
export function Secret({ id, secret, onSaved }) {
  const [copied, setCopied] = useState(false);
  const { attempt, error } = useAttempt();
  const box = useRef(null);
  // Set before the next request: if the page's own key was rotated, its refusal would sign out and hide the secret.
  useLayoutEffect(() => {
    box.current.focus();
    app.set({ holdsSecret: true });
    return () => app.set({ holdsSecret: false });
  }, []);
  const copySecret = () => attempt(() => copy(secret).then(() => setCopied(true)));
  return html`<div class="secret" role="group" aria-label="New secret" tabindex="-1" ref=${box}>
    <p><${Icon} name="warn" /> The secret of <strong dir="auto">${id}</strong> is shown only once.</p>
    <code dir="ltr">${secret}</code>
    <div class="actions">
      <${Button} kind="primary" icon=${copied ? 'check' : 'copy'} onClick=${copySecret}>${copied ? 'Copied' : 'Copy secret'}<//>
      <${Button} onClick=${onSaved}>I have saved it<//>
    </div>
    <${Failure} error=${error} />
  </div>`;
}
