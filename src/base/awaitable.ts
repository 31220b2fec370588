/** What is there at once, or later. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value: at once where it is there. */
export function after<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
