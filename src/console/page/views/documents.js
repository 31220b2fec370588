import { html } from '../lib/preact.js';
import { Later } from '../parts/later.js';

/** Collections of the user's documents, or one of them. */
export function Documents({ id }) {
  return id === undefined
    ? html`<${Later} load=${() => import('../documents/collections.js').then((loaded) => loaded.Collections)} />`
    : html`<${Later} id=${id} load=${() => import('../documents/collection.js').then((loaded) => loaded.Collection)} />`;
}
