import type { Provider } from '../upstream/provider.ts';
import { providerUrl, secretsOf } from '../upstream/provider-headers.ts';
import type { Route } from '../upstream/routes.ts';
import { Scrubber } from '../upstream/secrets.ts';
import { SecretMask } from './secret-mask.ts';

/** Paths of one doorway whose addresses are remembered at most; clients choose them. */
const MAX_PATHS = 32;
/** Credentials of one provider whose doorways are remembered at most. */
const MAX_DOORWAYS = 512;

/** What all requests to one provider under one credential have in common, made once. */
export class Doorway {
  readonly mask: SecretMask;
  readonly #route: Route;
  readonly #addresses = new Map<string, Address>();
  #scrubber: Scrubber | undefined;

  constructor(route: Route) {
    this.#route = route;
    this.mask = new SecretMask(route);
  }

  /** Cleans what is quoted of the provider's words. */
  get scrubber(): Scrubber {
    this.#scrubber ??= new Scrubber(secretsOf(this.#route));
    return this.#scrubber;
  }

  /** Where a path (after `/v1`, with its query) is at the provider. */
  address(path: string): Address {
    const known = this.#addresses.get(path);
    if (known) return known;
    const { origin, pathname, search } = providerUrl(this.#route, withoutCredentials(path));
    const address = { origin, path: pathname + search };
    if (this.#addresses.size < MAX_PATHS && !path.includes('?')) this.#addresses.set(path, address);
    return address;
  }
}

export interface Address {
  origin: string;
  /** Path with query. */
  path: string;
}

/** The doorways of all providers. */
export class Doorways {
  readonly #byProvider = new WeakMap<Provider, Map<string | undefined, Doorway>>();

  of(route: Route): Doorway {
    let known = this.#byProvider.get(route.provider);
    if (!known) {
      known = new Map();
      this.#byProvider.set(route.provider, known);
    }
    const found = known.get(route.credential);
    if (found) return found;
    if (known.size >= MAX_DOORWAYS) known.clear();
    const made = new Doorway(route);
    known.set(route.credential, made);
    return made;
  }
}

const CREDENTIAL = /^(?:api[-_]?key|key|(?:access[-_]?)?token|authorization)=/i;

/** Some clients repeat their key in the query: it is none of a provider's business. */
function withoutCredentials(path: string): string {
  const mark = path.indexOf('?');
  if (mark === -1) return path;
  const pairs = path.slice(mark + 1).split('&');
  const kept = pairs.filter((pair) => !CREDENTIAL.test(pair));
  return kept.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${kept.join('&')}`;
}
