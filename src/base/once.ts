/** Wraps `work` so that only the first call does it; every call returns the same result. After a failure it is tried again. */
export function once<T extends object, A extends unknown[]>(work: (...args: A) => T): (...args: A) => T {
  let result: T | undefined;
  return (...args) => {
    if (result !== undefined) return result;
    const made = work(...args);
    result = made;
    if (made instanceof Promise) {
      made.catch(() => {
        result = undefined;
      });
    }
    return made;
  };
}
