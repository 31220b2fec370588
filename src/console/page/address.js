/** The gateway, wherever it is mounted: this file is `<gateway>/console/<version>/address.js`. */
export const GATEWAY = new URL('../..', import.meta.url);

const HOME = new URL('console', GATEWAY).pathname;

/** How each view becomes a path below the console's own, and back. */
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

/** The address of a view: its subject as a path, the place in it as a fragment, which no server sees. Never a key. */
export function addressOf(view) {
  const parts = VIEWS[view.name].path(view).filter((part) => part !== undefined);
  const path = parts.map((part) => encodeURIComponent(String(part).toWellFormed()));
  const place = Object.entries(view.place ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const fragment = new URLSearchParams(place).toString();
  return [HOME, ...path].join('/') + (fragment === '' ? '' : `#${fragment}`);
}

/** The view at an address, or the first one if it names none. `place`: the values of its fragment, as texts. */
export function viewAt({ pathname, hash }) {
  const path = pathname.startsWith(`${HOME}/`) ? pathname.slice(HOME.length + 1) : '';
  const place = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const found = Object.entries(VIEWS).find(([, { at }]) => at.test(path));
  if (!found) return { name: 'ask', place: {} };
  const [name, { at }] = found;
  return { name, ...at.exec(path).groups, place };
}
