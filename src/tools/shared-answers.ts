/**
 * Whether an answer from the web may be kept for other users. As shared caches do, one that is meant for whoever asked
 * is not: `private`, `no-store`, `no-cache`, cookies, and one that no other request is like (`Vary: *`). Requests of tools
 * carry no credentials of users, so there is nothing to say about `Authorization`.
 */
export function mayBeShared(headers: Headers): boolean {
  if (isPrivate(headers) || directivesOf(headers).includes('no-cache')) return false;
  return !headers.has('set-cookie') && !listOf(headers.get('vary')).includes('*');
}

/** Whether an answer says outright that it is for whoever asked. */
export function isPrivate(headers: Headers): boolean {
  return directivesOf(headers).some((name) => name === 'private' || name === 'no-store');
}

function directivesOf(headers: Headers): string[] {
  return listOf(headers.get('cache-control')).map((directive) => directive.split('=', 1)[0]?.trim() ?? '');
}

function listOf(header: string | null): string[] {
  return (header ?? '').split(',').map((part) => part.trim().toLowerCase());
}
