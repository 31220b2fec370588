/** The gateway, wherever it is mounted: this file is `<gateway>/console/<version>/address.js`. */
export const GATEWAY = new URL('../..', import.meta.url);

const HOME = new URL('console', GATEWAY).pathname;

/** The path of each view below the console's own, and how it is read: anything else names nothing. */
const VIEWS = {
  ask: { path: () => [], at: /^$/ },
  run: { path: ({ id }) => ['runs', id], at: /^runs\/(?<id>[\w-]{1,200})$/ },
  task: { path: ({ id }) => ['tasks', id], at: /^tasks\/(?<id>[\w-]{1,200})$/ },
  runs: { path: ({ kind = 'runs' }) => [kind], at: /^(?<kind>runs|tasks)$/ },
  compare: {
    path: ({ left, right }) => ['compare', left, right],
    at: /^compare\/(?<left>[\w-]{1,200})\/(?<right>[\w-]{1,200})$/,
  },
  documents: { path: ({ id }) => ['documents', id], at: /^documents(?:\/(?<id>[\w-]{1,200}))?$/ },
  operate: { path: ({ page }) => ['operate', page], at: /^operate(?:\/(?<page>keys|usage|config|audit))?$/ },
};

/** The address of a view: what it is about as a path, where in it as a fragment, which no server sees. Never a key. */
export function addressOf(view) {
  const parts = VIEWS[view.name].path(view).filter((part) => part !== undefined);
  const path = parts.map((part) => encodeURIComponent(String(part).toWellFormed()));
  const place = Object.entries(view.place ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const fragment = new URLSearchParams(place).toString();
  return [HOME, ...path].join('/') + (fragment === '' ? '' : `#${fragment}`);
}

/** The view at an address; where it names none, the first. `place`: what its fragment says, as texts. */
export function viewAt({ pathname, hash }) {
  const path = pathname.startsWith(`${HOME}/`) ? pathname.slice(HOME.length + 1) : '';
  const place = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const found = Object.entries(VIEWS).find(([, { at }]) => at.test(path));
  if (!found) return { name: 'ask', place: {} };
  const [name, { at }] = found;
  return { name, ...at.exec(path).groups, place };
}
