import { app } from '../app.js';
import { html } from '../lib/preact.js';
import { Lazy } from '../parts/lazy.js';
import { Link } from '../parts/link.js';
import { useTitle } from '../parts/title.js';
import { useStore } from '../store.js';

/** Each page is loaded when it is first shown, because most users may not see any of them. */
const PAGES = {
  overview: { title: 'Overview', load: () => import('../operate/overview.js').then((loaded) => loaded.Overview) },
  keys: { title: 'Keys', load: () => import('../operate/keys.js').then((loaded) => loaded.Keys) },
  usage: { title: 'Usage', load: () => import('../operate/usage.js').then((loaded) => loaded.Usage) },
  config: { title: 'Configuration', load: () => import('../operate/config.js').then((loaded) => loaded.Config) },
  audit: { title: 'Audit', load: () => import('../operate/audit.js').then((loaded) => loaded.Audit) },
};

const FIRST = 'overview';

/** The operator's pages, for keys with `admin: true`. */
export function Operate({ page = FIRST, place = {} }) {
  const isAdmin = useStore(app, (value) => value.admin);
  const { title, load } = PAGES[page];
  useTitle(page === FIRST ? 'Operate' : title);
  // Request nothing until it is known whether the key may see this.
  if (isAdmin === undefined) return html`<section class="operate"><h1 tabindex="-1">Operate</h1></section>`;
  if (!isAdmin) {
    return html`<section class="ask"><h1 tabindex="-1">No access with this key</h1>
      <p class="lead">Operating the gateway needs a key with <code>admin: true</code>. Sign out to use another one.</p>
    </section>`;
  }
  return html`<section class="operate">
    <header class="list-head"><h1 tabindex="-1">Operate</h1></header>
    <nav class="tabs" aria-label="Operate">
      ${Object.entries(PAGES).map(
        ([name, { title: label }]) =>
          html`<${Link} key=${name} to=${{ name: 'operate', page: name === FIRST ? undefined : name }} aria-current=${name === page ? 'page' : undefined}>${label}<//>`,
      )}
    </nav>
    <${Lazy} key=${page} load=${load} place=${place} />
  </section>`;
}
