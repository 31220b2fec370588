/**
 * Defers work to the end of this turn of the event loop, so that the writes of one turn go out together. Each write to a
 * socket wakes its reader, and a wake-up costs as much as the work for a small answer: without this, pass-through at 32
 * connections falls from 1.2 to 0.9 times what Express with http-proxy-middleware does (`npm run bench -- pass-through`).
 */
export function atTurnEnd(work: () => void): void {
  setImmediate(work);
}

/**
 * Corks a socket until the end of this turn of the event loop, so that its writes go out in one piece. A full one may be
 * uncorked before; an answer of `node:http` that is uncorked once more than it was corked never sends again.
 */
export function corkUntilTurnEnd(socket: { writableCorked: number; cork(): void; uncork(): void }): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  atTurnEnd(() => {
    if (socket.writableCorked > 0) socket.uncork();
  });
}

/** Does `work` after everything that this turn of the event loop has deferred to its end. */
export function afterTurnEnd(work: () => void): void {
  // The first immediate may run before the deferred work, the second runs one turn later.
  setImmediate(() => setImmediate(work));
}
