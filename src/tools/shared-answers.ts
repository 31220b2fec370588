/**
 * Whether an answer from the web may be stored for other users, by the rules of shared caches: not if it is `private`,
 * `no-store` or `no-cache`, sets cookies, or matches no other request (`Vary: *`). `Authorization` does not matter,
 * because tools send no credentials of users.
 */
export function mayBeShared(headers: Headers): boolean {
  if (isPrivateAnswer(headers) || directivesOf(headers).includes('no-cache')) return false;
  return !headers.has('set-cookie') && !listOf(headers.get('vary')).includes('*');
}

/** Whether an answer says outright that it is for its requester alone. */
export function isPrivateAnswer(headers: Headers): boolean {
  return directivesOf(headers).some((name) => name === 'private' || name === 'no-store');
}

function directivesOf(headers: Headers): string[] {
  return listOf(headers.get('cache-control')).map((directive) => directive.split('=', 1)[0]?.trim() ?? '');
}

function listOf(header: string | null): string[] {
  return (header ?? '').split(',').map((part) => part.trim().toLowerCase());
}
