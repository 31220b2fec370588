/** The gateway, wherever it is mounted: this file is `<gateway>/console/<version>/address.js`. */
export const GATEWAY = new URL('../..', import.meta.url);

const HOME = new URL('console', GATEWAY).pathname;

/** What ids are made of; anything else in an address names nothing. */
const ID = /^[\w-]{1,200}$/;

/** The path of each view below the console's own, and what the parts of it say. */
const VIEWS = {
  ask: { path: () => [], read: (parts) => parts.length === 0 && {} },
  run: { path: ({ id }) => ['runs', id], read: ([kind, ...ids]) => kind === 'runs' && oneOf(ids) },
  task: { path: ({ id }) => ['tasks', id], read: ([kind, ...ids]) => kind === 'tasks' && oneOf(ids) },
  runs: { path: ({ kind }) => [kind === 'tasks' ? 'tasks' : 'runs'], read: listIn },
  compare: {
    path: ({ ids }) => ['compare', ...ids],
    read: ([kind, ...ids]) => kind === 'compare' && ids.length === 2 && ids.every((id) => ID.test(id)) && { ids },
  },
  documents: { path: ({ id }) => (id ? ['documents', id] : ['documents']), read: documentsIn },
  operate: { path: ({ page }) => (page && page !== 'overview' ? ['operate', page] : ['operate']), read: operatedIn },
};

function oneOf(ids) {
  return ids.length === 1 && ID.test(ids[0]) && { id: ids[0] };
}

function listIn(parts) {
  if (parts.length !== 1) return false;
  return { runs: { kind: 'responses' }, tasks: { kind: 'tasks' } }[parts[0]];
}

function documentsIn([kind, ...ids]) {
  return kind === 'documents' && (ids.length === 0 ? {} : oneOf(ids));
}

function operatedIn([kind, page = 'overview', ...rest]) {
  if (kind !== 'operate' || rest.length > 0) return false;
  return ['overview', 'keys', 'usage', 'config', 'audit'].includes(page) && { page };
}

/** The address of a view: what it is about as a path, where in it as a fragment, which no server sees. Never a key. */
export function addressOf(view) {
  const parts = VIEWS[view.name].path(view).map((part) => encodeURIComponent(String(part).toWellFormed()));
  const place = Object.entries(view.place ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const fragment = new URLSearchParams(place).toString();
  return [HOME, ...parts].join('/') + (fragment === '' ? '' : `#${fragment}`);
}

/** The view at an address; where it names none, the first. `place`: what its fragment says, as texts. */
export function viewAt({ pathname, hash }) {
  const rest = pathname.startsWith(`${HOME}/`) ? pathname.slice(HOME.length + 1) : '';
  const parts = rest === '' ? [] : rest.split('/');
  const place = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  for (const [name, { read }] of Object.entries(VIEWS)) {
    const found = read(parts);
    if (found) return { name, ...found, place };
  }
  return { name: 'ask', place: {} };
}
