import type { ApiTarget, ProviderAddress } from '../protocol/request-target.ts';
import type { Provider } from '../upstream/provider.ts';
import { addressAt, secretsOf } from '../upstream/provider-headers.ts';
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
  readonly #addresses = new Map<string, ProviderAddress>();
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

  /** Where a path (after `/v1`, with its query) is at the provider. @throws GatewayError as `providerAddress`. */
  address({ path, api }: ApiTarget): ProviderAddress {
    const name = `${api} ${path}`;
    const known = this.#addresses.get(name);
    if (known) return known;
    const address = addressAt(this.#route, { path: withoutCredentials(path), api });
    if (this.#addresses.size < MAX_PATHS && !path.includes('?')) this.#addresses.set(name, address);
    return address;
  }
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

const CREDENTIAL = /^(?:api[-_]?key|key|(?:access[-_]?)?token|authorization)$/i;

/** Some clients repeat their key in the query: it is none of a provider's business. What stays is as it was. */
function withoutCredentials(path: string): string {
  const mark = path.indexOf('?');
  if (mark === -1) return path;
  const pairs = path.slice(mark + 1).split('&');
  const kept = pairs.filter((pair) => !CREDENTIAL.test(nameOf(pair)));
  return kept.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${kept.join('&')}`;
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  // A name that is no UTF-8 is none of those looked for.
  return name.replace(/%([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
