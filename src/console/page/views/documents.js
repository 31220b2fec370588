import { html } from '../lib/preact.js';
import { Lazy } from '../parts/lazy.js';

/** Collections of the user's documents, or one of them. */
export function Documents({ id }) {
  return id === undefined
    ? html`<${Lazy} load=${() => import('../documents/collections.js').then((loaded) => loaded.Collections)} />`
    : html`<${Lazy} id=${id} load=${() => import('../documents/collection.js').then((loaded) => loaded.Collection)} />`;
}
