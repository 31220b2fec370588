import { html } from '../lib/preact.js';
import { Button } from '../parts/controls.js';
import { Icon } from '../parts/icons.js';
import { useSeconds } from './meters.js';

/** Says when the connection was lost; it comes back by itself. */
export function Connection({ session }) {
  const lost = session.connection === 'lost';
  const now = useSeconds(lost);
  if (lost) {
    const seconds = Math.max(0, Math.ceil((session.retryAt - now) / 1000));
    return html`<div class="banner" role="status">
      <${Icon} name="warn" />
      <span>The connection is lost; the run goes on without it. ${seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…'}</span>
      <${Button} kind="link" onClick=${session.retryNow}>Now<//>
    </div>`;
  }
  if (session.resumed && session.connection === 'live') {
    return html`<div class="banner fine" role="status"><${Icon} name="check" /><span>Connected again; nothing was missed.</span></div>`;
  }
  return null;
}
