import { app } from '../app.js';
import { html, useLayoutEffect, useRef, useState } from '../lib/preact.js';
import { useAttempt } from '../parts/asking.js';
import { Button, Failure } from '../parts/controls.js';
import { copy } from '../parts/exports.js';
import { Icon } from '../parts/icons.js';

/** The secret of a key that was made or rotated. The gateway itself knows only its hash: this is the one time. */
export function Secret({ id, secret, onKept }) {
  const [copied, setCopied] = useState(false);
  const { attempt, error } = useAttempt();
  const box = useRef(null);
  // Before anything is asked with the key that was rotated: its refusal would take the page, and this, away.
  useLayoutEffect(() => {
    box.current.focus();
    app.set({ holdsSecret: true });
    return () => app.set({ holdsSecret: false });
  }, []);
  const take = () => attempt(() => copy(secret).then(() => setCopied(true)));
  return html`<div class="secret" role="group" aria-label="The new secret" tabindex="-1" ref=${box}>
    <p><${Icon} name="warn" /> The secret of <strong dir="auto">${id}</strong>. It is shown now and never again.</p>
    <code dir="ltr">${secret}</code>
    <div class="actions">
      <${Button} kind="primary" icon=${copied ? 'check' : 'copy'} onClick=${take}>${copied ? 'Copied' : 'Copy the secret'}<//>
      <${Button} onClick=${onKept}>I have kept it<//>
    </div>
    <${Failure} error=${error} />
  </div>`;
}
