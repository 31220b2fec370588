import { addressOf, viewAt } from './address.js';
import { ApiError, Client, startHints } from './client.js';
import { answerOtherTabs, askOtherTabs } from './other-tabs.js';
import { RunSession } from './run/session.js';
import { Store } from './store.js';

const KEY = 'key';
const THEME = 'theme';
/** Runs whose events are kept in this page. */
const MAX_RUNS = 6;

/** What all views share. What is shown stands in the address; keys stand in the page's memory alone. */
export const app = new Store({
  /** `out` or `in`. */
  signedIn: 'out',
  client: null,
  models: [],
  /** Whether the key may operate the gateway; undefined until it is known. */
  admin: undefined,
  wellKnownKey: '',
  refusal: null,
  /** A secret is shown that nobody sees again: a key that ended, perhaps the page's own, must not take it away. */
  holdsSecret: false,
  view: shownAt(location, history.state),
  theme: localStorage.getItem(THEME) ?? 'auto',
});

const runs = new Map();

/** What was asked for is not in the address: the history remembers it. */
function shownAt(address, state) {
  const view = viewAt(address);
  return state?.asked ? { ...view, asked: state.asked } : view;
}

/** Finds a key: the one this tab kept, else the one that is no secret while the gateway accepts it. */
export async function start() {
  addEventListener('popstate', ({ state }) => app.set({ view: shownAt(location, state) }));
  answerOtherTabs(() => sessionStorage.getItem(KEY));
  applyTheme();
  const hints = await startHints().catch(() => ({}));
  app.set({ wellKnownKey: hints.api_key ?? '' });
  // Whoever signed out wants another key.
  const wanted = !history.state?.signedOut;
  const kept = sessionStorage.getItem(KEY) ?? (wanted && !hints.api_key ? await askOtherTabs() : null);
  const key = kept ?? (wanted ? hints.api_key : null);
  if (!key) return app.set({ signedIn: 'out' });
  await signIn(key, { keep: kept !== null }).catch((error) => app.set({ signedIn: 'out', refusal: error }));
}

/** `keep`: until this tab is closed; else until it is loaded again. @throws ApiError where the key is refused. */
export async function signIn(key, { keep }) {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ApiError({
      code: 'invalid_api_key',
      message: 'This is no API key: it has letters that keys do not have.',
    });
  const client = new Client(key, {
    onDenied: (error) => {
      if (app.value.client === client && !app.value.holdsSecret) leave(error);
    },
  });
  const { data } = await client.read('v1/models');
  if (keep) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
  app.set({ signedIn: 'in', client, models: data, refusal: null, admin: undefined });
  const isAdmin = (admin) => app.value.client === client && app.set({ admin });
  client.read('admin/overview').then(
    () => isAdmin(true),
    (error) => isAdmin(error.status !== 404),
  );
}

export function signOut() {
  history.replaceState({ signedOut: true }, '', addressOf({ name: 'ask' }));
  leave(null);
  app.set({ view: { name: 'ask' } });
}

/** Forgets the key. What was shown stays in the address: the next key shows it again. */
function leave(refusal) {
  sessionStorage.removeItem(KEY);
  for (const session of runs.values()) session.stop();
  runs.clear();
  app.set({ signedIn: 'out', client: null, models: [], admin: undefined, holdsSecret: false, refusal });
}

/** Shows another view, whose address stands in the history. */
export function go(view, { replace = false } = {}) {
  const state = view.asked ? { asked: view.asked } : null;
  if (replace) history.replaceState(state, '', addressOf(view));
  else history.pushState(state, '', addressOf(view));
  app.set({ view });
  scrollTo(0, 0);
}

/** Says where in the view its reader is now: a tab, a source, a filter. */
export function move(change) {
  const { view } = app.value;
  const moved = { ...view, place: { ...view.place, ...change } };
  history.replaceState(history.state, '', addressOf(moved));
  app.set({ view: moved });
}

/** The run with this id as the page follows it; the ones not looked at for longest are left. */
export function runOf(id) {
  const known = runs.get(id);
  runs.delete(id);
  const session = known ?? new RunSession({ client: app.value.client, id });
  runs.set(id, session);
  if (runs.size > MAX_RUNS) {
    const [oldest, left] = runs.entries().next().value;
    left.stop();
    runs.delete(oldest);
  }
  return session;
}

/** Forgets what was read of a run, so that it is read again. */
export function forget(id) {
  runs.get(id)?.stop();
  runs.delete(id);
}

export function setTheme(theme) {
  localStorage.setItem(THEME, theme);
  app.set({ theme });
  applyTheme();
}

function applyTheme() {
  document.documentElement.dataset.theme = app.value.theme;
}

/** Submits a run and shows it. @throws ApiError. */
export async function ask(body, { once }) {
  const response = await app.value.client.submit(body, { once });
  const { max_cost, tools, tool_choice } = body;
  // A plan is shown, and a question asked back, once.
  const { plan, clarify, ...research } = body.research ?? {};
  const asked = { max_cost, tools, tool_choice, ...(Object.keys(research).length > 0 && { research }) };
  go({ name: 'run', id: response.id, asked });
  return response;
}
