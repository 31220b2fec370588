import { app } from '../app.js';
import { html } from '../lib/preact.js';
import { Audit } from '../operate/audit.js';
import { Config } from '../operate/config.js';
import { Keys } from '../operate/keys.js';
import { Overview } from '../operate/overview.js';
import { Usage } from '../operate/usage.js';
import { Link } from '../parts/link.js';
import { useTitle } from '../parts/title.js';
import { useStore } from '../store.js';

const PAGES = {
  overview: { title: 'Overview', View: Overview },
  keys: { title: 'Keys', View: Keys },
  usage: { title: 'Usage', View: Usage },
  config: { title: 'Configuration', View: Config },
  audit: { title: 'Audit', View: Audit },
};

/** What keys with `admin: true` see of the gateway, and change. */
export function Operate({ page = 'overview', place = {} }) {
  const isAdmin = useStore(app, (value) => value.admin);
  const { title, View } = PAGES[page];
  useTitle(page === 'overview' ? 'Operate' : title);
  // Until it is known whether the key may see this, nothing is asked.
  if (isAdmin === undefined) return html`<section class="operate"><h1 tabindex="-1">Operate</h1></section>`;
  if (!isAdmin) {
    return html`<section class="ask"><h1 tabindex="-1">Not for this key</h1>
      <p class="lead">Operating the gateway takes a key with <code>admin: true</code>. Sign out to use another one.</p>
    </section>`;
  }
  return html`<section class="operate">
    <header class="list-head"><h1 tabindex="-1">Operate</h1></header>
    <nav class="tabs" aria-label="Operate">
      ${Object.entries(PAGES).map(
        ([name, { title: label }]) =>
          html`<${Link} key=${name} to=${{ name: 'operate', page: name }} aria-current=${name === page ? 'page' : undefined}>${label}<//>`,
      )}
    </nav>
    <${View} place=${place} />
  </section>`;
}
