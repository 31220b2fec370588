import { useLayoutEffect, useState } from './lib/preact.js';

/** One value that views read and listen to. */
export class Store {
  #value;
  #listeners = new Set();

  constructor(value) {
    this.#value = value;
  }

  get value() {
    return this.#value;
  }

  set(change) {
    this.#value = { ...this.#value, ...change };
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` after each change; gives what stops it. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The part of a store that a view shows; the view is drawn again when that part changes. */
export function useStore(store, select) {
  const [selected, setSelected] = useState(() => select(store.value));
  useLayoutEffect(() => {
    const look = () => setSelected(() => select(store.value));
    // What came between drawing and listening.
    look();
    return store.listen(look);
  }, [store]);
  return selected;
}
