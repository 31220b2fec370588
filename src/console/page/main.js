import { app, setTheme, signOut, start } from './app.js';
import { html, render, useEffect, useErrorBoundary, useRef } from './lib/preact.js';
import { Button, Failure } from './parts/controls.js';
import { Icon } from './parts/icons.js';
import { Link } from './parts/link.js';
import { useStore } from './store.js';
import { Ask } from './views/ask.js';
import { Compare } from './views/compare.js';
import { Documents } from './views/documents.js';
import { Operate } from './views/operate.js';
import { Run } from './views/run.js';
import { Runs } from './views/runs.js';
import { SignIn } from './views/sign-in.js';
import { Task } from './views/task.js';

const VIEWS = { ask: Ask, run: Run, runs: Runs, task: Task, compare: Compare, documents: Documents, operate: Operate };

function Console() {
  const signedIn = useStore(app, (value) => value.signedIn);
  const view = useStore(app, (value) => value.view);
  const main = useRef(null);
  // Focus the heading of a new view, so that screen readers start there.
  const { name, id, page, left, right } = view;
  const key = [name, id, page, left, right].join(' ');
  const lastKey = useRef(key);
  useEffect(() => {
    if (lastKey.current === key) return;
    lastKey.current = key;
    main.current?.querySelector('h1')?.focus({ preventScroll: true });
  }, [key]);
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  if (signedIn === 'out') return html`<main id="main" class="alone"><${SignIn} /></main>`;
  const View = VIEWS[name] ?? Ask;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Header} view=${name} />
    <main id="main" ref=${main} tabindex="-1"><${Guarded} key=${key} of=${View} ...${view} /></main>
  `;
}

/** A view, or why it cannot be drawn: an error in one must not leave a page that does nothing. */
function Guarded({ of: View, ...view }) {
  const [error] = useErrorBoundary();
  if (!error) return html`<${View} ...${view} />`;
  const failure = { message: 'This view cannot be drawn.', code: String(error) };
  return html`<${Failure} error=${failure} onRetry=${() => location.reload()} />`;
}

function Header({ view }) {
  const admin = useStore(app, (value) => value.admin);
  const entries = [
    { name: 'ask', label: 'Ask' },
    { name: 'runs', label: 'Runs' },
    { name: 'documents', label: 'Documents' },
    ...(admin ? [{ name: 'operate', label: 'Operate' }] : []),
  ];
  const current = { run: 'runs', task: 'runs', compare: 'runs' }[view] ?? view;
  return html`<header class="top">
    <${Link} to=${{ name: 'ask' }} class="brand"><${Brand} />research-gateway<//>
    <nav aria-label="Main">
      ${entries.map(
        ({
          name,
          label,
        }) => html`<${Link} to=${{ name }} key=${name} aria-current=${name === current ? 'page' : undefined}>
          <${Icon} name=${name} /><span>${label}</span>
        <//>`,
      )}
    </nav>
    <div class="top-side"><${Theme} /><${Button} kind="bare" icon="leave" aria-label="Sign out" title="Sign out" onClick=${() => signOut()} /></div>
  </header>`;
}

const NEXT_THEME = { auto: 'light', light: 'dark', dark: 'auto' };
const THEME_ICON = { auto: 'auto', light: 'sun', dark: 'moon' };

function Theme() {
  const theme = useStore(app, (value) => value.theme);
  const label = `Theme: ${theme}`;
  return html`<${Button} kind="bare" icon=${THEME_ICON[theme]} aria-label=${label} title=${label} onClick=${() => setTheme(NEXT_THEME[theme])} />`;
}

export function Brand() {
  return html`<svg class="brand-mark" viewBox="0 0 20 20" aria-hidden="true"><path d="M3 5h9M3 10h5.5M3 15h3.5M16 16l-2.2-2.2M12 14.7a3 3 0 1 0 0-6 3 3 0 0 0 0 6" /></svg>`;
}

await start();
// The address of the page changes with the view, so the icon needs an absolute one.
document.querySelector('link[rel="icon"]').href = new URL('icon.svg', import.meta.url);
const home = document.getElementById('app');
// Preact would keep the placeholder header beside its own.
home.replaceChildren();
render(html`<${Console} />`, home);
// Marks the loading time for measurements.
requestAnimationFrame(() => performance.mark('ready'));
