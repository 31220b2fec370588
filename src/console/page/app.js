import { addressOf, viewAt } from './address.js';
import { ApiError, Client, startHints } from './client.js';
import { answerOtherTabs, askOtherTabs } from './other-tabs.js';
import { RunSession } from './run/session.js';
import { Store } from './store.js';

const KEY = 'key';
const THEME = 'theme';
/** Storage of this tab, and of this browser, unless its user lets no page store anything. */
const [tab, browser] = ['sessionStorage', 'localStorage'].map((name) => {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
});
/** Runs whose events are kept in this page. */
const MAX_RUNS = 6;

/** State that all views share. What is shown is also in the address; keys are never there. */
export const app = new Store({
  /** `out` or `in`. */
  signedIn: 'out',
  client: null,
  models: [],
  /** Whether the key may operate the gateway; undefined until it is known. */
  admin: undefined,
  wellKnownKey: '',
  refusal: null,
  /** Whether a new secret is on screen for its only time: a 401, perhaps because the page's own key was rotated, must not hide it. */
  holdsSecret: false,
  view: viewFrom(location, history.state),
  theme: browser?.getItem(THEME) ?? 'auto',
});

const runs = new Map();

/** The request of a run is not in the address: the state of the history holds it. */
function viewFrom(address, state) {
  const view = viewAt(address);
  return state?.asked ? { ...view, asked: state.asked } : view;
}

/** Signs in with the key that this tab stored, else with the well-known key while the gateway accepts it. */
export async function start() {
  addEventListener('popstate', ({ state }) => app.set({ view: viewFrom(location, state) }));
  answerOtherTabs(() => tab?.getItem(KEY) ?? null);
  applyTheme();
  const hints = await startHints().catch(() => ({}));
  app.set({ wellKnownKey: hints.api_key ?? '' });
  // After signing out the user wants another key.
  const mayReuse = !history.state?.signedOut;
  const useLate = (key) => {
    if (signIns === 0 && app.value.signedIn === 'out' && !history.state?.signedOut)
      signIn(key, { keep: true }).catch(() => {});
  };
  const stored = tab?.getItem(KEY) ?? (mayReuse && !hints.api_key ? await askOtherTabs(useLate) : null);
  const key = stored ?? (mayReuse ? hints.api_key : null);
  if (!key) return app.set({ signedIn: 'out' });
  await signIn(key, { keep: stored !== null }).catch((error) => app.set({ signedIn: 'out', refusal: error }));
}

/** How many sign-ins have begun. The newest one holds. */
let signIns = 0;

/** `keep`: remember the key until this tab is closed, not only until it is reloaded. @throws ApiError if the key is refused. */
export async function signIn(key, { keep }) {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ApiError({
      code: 'invalid_api_key',
      message: 'This is not an API key: it contains characters that keys never have.',
    });
  signIns += 1;
  const own = signIns;
  const client = new Client(key, {
    onDenied: (error) => {
      if (app.value.client === client && !app.value.holdsSecret) forgetKey(error);
    },
  });
  const { data } = await client.read('v1/models');
  if (own !== signIns) return;
  if (keep) tab?.setItem(KEY, key);
  else tab?.removeItem(KEY);
  app.set({ signedIn: 'in', client, models: data, refusal: null, admin: undefined });
  const setAdmin = (admin) => app.value.client === client && app.set({ admin });
  client.read('admin/overview').then(
    () => setAdmin(true),
    (error) => setAdmin(error.status !== 404),
  );
}

export function signOut() {
  history.replaceState({ signedOut: true }, '', addressOf({ name: 'ask' }));
  forgetKey(null);
  app.set({ view: { name: 'ask' } });
}

/** The view stays in the address, so that the next key shows it again. */
function forgetKey(refusal) {
  tab?.removeItem(KEY);
  for (const session of runs.values()) session.stop();
  runs.clear();
  app.set({ signedIn: 'out', client: null, models: [], admin: undefined, holdsSecret: false, refusal });
}

/** Shows another view and puts its address into the history. */
export function go(view, { replace = false } = {}) {
  const state = view.asked ? { asked: view.asked } : null;
  if (replace) history.replaceState(state, '', addressOf(view));
  else history.pushState(state, '', addressOf(view));
  app.set({ view });
  scrollTo(0, 0);
}

/** Shows the view that `next` resolves to, unless the user has left the present one by then. */
export async function goAfter(next, options) {
  const { client, view } = app.value;
  const later = await next;
  const { client: clientNow, view: now } = app.value;
  if (clientNow === client && now.name === view.name && now.id === view.id) go(later, options);
}

/** Puts the reader's place in the view into the address: a tab, a source, a filter. */
export function move(change) {
  const { view } = app.value;
  const moved = { ...view, place: { ...view.place, ...change } };
  history.replaceState(history.state, '', addressOf(moved));
  app.set({ view: moved });
}

/** The session that follows this run. Only the latest `MAX_RUNS` sessions are kept. */
export function runOf(id) {
  const known = runs.get(id);
  runs.delete(id);
  const session = known ?? new RunSession({ client: app.value.client, id });
  runs.set(id, session);
  if (runs.size > MAX_RUNS) {
    const [oldest, unused] = runs.entries().next().value;
    unused.stop();
    runs.delete(oldest);
  }
  return session;
}

/** Drops what was read of a run, so that it is read again. */
export function forget(id) {
  runs.get(id)?.stop();
  runs.delete(id);
}

export function setTheme(theme) {
  browser?.setItem(THEME, theme);
  app.set({ theme });
  applyTheme();
}

function applyTheme() {
  document.documentElement.dataset.theme = app.value.theme;
}

/** Submits a run and shows it. @throws ApiError. */
export async function ask(body, { idempotencyKey }) {
  const { max_cost, tools, tool_choice } = body;
  // Follow-ups neither propose a plan nor ask the user again.
  const { plan, clarify, ...research } = body.research ?? {};
  const asked = { max_cost, tools, tool_choice, ...(Object.keys(research).length > 0 && { research }) };
  const submitted = app.value.client.submit(body, { idempotencyKey });
  await goAfter(submitted.then(({ id }) => ({ name: 'run', id, asked })));
}
