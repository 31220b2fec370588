/** An item's place in a list. Disposing removes it, once. */
class ListPlace<T> implements Disposable {
  readonly item: T;
  readonly #places: ListPlace<T>[];
  #index: number;

  constructor(item: T, places: ListPlace<T>[]) {
    this.item = item;
    this.#places = places;
    this.#index = places.push(this) - 1;
  }

  /** The last item takes this place. */
  [Symbol.dispose](): void {
    if (this.#places[this.#index] !== this) return;
    const last = this.#places.pop();
    if (last === undefined || last === this) return;
    this.#places[this.#index] = last;
    last.#index = this.#index;
  }
}

/**
 * Things that are under way, in no particular order. Not a Set or a Map: adding and deleting leaves old hash tables behind
 * that point to newer ones, and V8's young-generation collector then keeps alive whatever they contain, such as a whole
 * request.
 */
export class UnorderedList<T> {
  readonly #places: ListPlace<T>[] = [];

  get size(): number {
    return this.#places.length;
  }

  /** Adds an item until disposed. */
  add(item: T): ListPlace<T> {
    return new ListPlace(item, this.#places);
  }

  /** The places of this moment; items may be removed meanwhile. */
  places(): ListPlace<T>[] {
    return [...this.#places];
  }
}
