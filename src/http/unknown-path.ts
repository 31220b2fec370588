import { GatewayError } from '../base/errors.ts';

/** Endpoints as clients append them to their base URL. */
const API_PATH = /^\/(?:v1\/)?(?:chat\/completions|completions|responses|models|async|embeddings)(?:\/|$)/;

/** How much of a path is named, in characters. */
const MAX_PATH = 200;

/** The error for an address where nothing is. It says what is wrong with the base URL that clients are often given. */
export function notFoundAt(path: string): GatewayError {
  return new GatewayError('not_found', `There is nothing at this address: ${path.slice(0, MAX_PATH)}.${hint(path)}`);
}

function hint(path: string): string {
  if (path.startsWith('/v1/v1/') && API_PATH.test(path.slice('/v1'.length))) {
    return ' The path has /v1 twice: one of them is in the base URL.';
  }
  return API_PATH.test(path) && !path.startsWith('/v1/') ? ' The API is below /v1: let the base URL end with /v1.' : '';
}
