import { addressOf } from '../address.js';
import { go } from '../app.js';
import { html } from '../lib/preact.js';

/** A link to a view. A plain click stays in this page; the browser handles all others, such as a new tab. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${addressOf(to)} ...${rest} onClick=${follow}>${children}</a>`;
}
