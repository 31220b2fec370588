import { GatewayError } from '../base/errors.ts';

/** Paths that clients append to their base URL. */
const API_PATH = /^\/(?:v1\/)?(?:chat\/completions|completions|responses|models|async|embeddings)(?:\/|$)/;

/** How much of a path the message shows, in characters. */
const MAX_PATH = 200;

/** The error for an unknown path, with a hint about the usual mistakes in a base URL. */
export function notFoundAt(path: string): GatewayError {
  return new GatewayError('not_found', `There is nothing at this address: ${path.slice(0, MAX_PATH)}.${hint(path)}`);
}

function hint(path: string): string {
  if (path.startsWith('/v1/v1/') && API_PATH.test(path.slice('/v1'.length))) {
    return ' The path has /v1 twice: one of them is in the base URL.';
  }
  return API_PATH.test(path) && !path.startsWith('/v1/') ? ' The API is below /v1: let the base URL end with /v1.' : '';
}
