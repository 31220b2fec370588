/** Wraps `work` so that only the first call does it; every call returns the same result. */
export function once<T extends object>(work: () => T): () => T {
  let result: T | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
