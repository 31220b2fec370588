import { html } from '../lib/preact.js';
import { Button } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { useSeconds } from './meters.js';

/** A banner while the connection is lost or just came back; the session reconnects by itself. */
export function Connection({ session }) {
  const lost = session.connection === 'lost';
  const now = useSeconds(lost);
  if (lost) {
    const seconds = Math.max(0, Math.ceil((session.retryAt - now) / 1000));
    return html`<div class="banner" role="status">
      <${Icon} name="warn" />
      <span>Connection lost; the run continues without it. ${seconds > 0 ? `Retrying in ${seconds} s.` : 'Retrying…'}</span>
      <${Button} kind="link" onClick=${session.retryNow}>Retry now<//>
    </div>`;
  }
  if (session.resumed && session.connection === 'live') {
    return html`<div class="banner fine" role="status"><${Icon} name="check" /><span>Reconnected; nothing was missed.</span></div>`;
  }
  return null;
}
