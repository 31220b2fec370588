/** Does `work` when it is called for the first time; every call returns what came of it. */
export function once<T extends object>(work: () => T): () => T {
  let done: T | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
