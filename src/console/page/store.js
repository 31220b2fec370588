import { useLayoutEffect, useState } from './lib/preact.js';

/** A value that views read and subscribe to. */
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

  /** Calls `listener` after each change. Returns a function that unsubscribes it. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The selected part of a store; the view is drawn again when that part changes. */
export function useStore(store, select) {
  const [selected, setSelected] = useState(() => select(store.value));
  useLayoutEffect(() => {
    const update = () => setSelected(() => select(store.value));
    // The store may have changed since the view was drawn.
    update();
    return store.listen(update);
  }, [store]);
  return selected;
}
