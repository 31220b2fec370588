/** Heights that differ by less count as equal, in pixels. */
const EPSILON = 0.5;

/**
 * Where the rows of a list begin, in pixels. Until a row was drawn, its height is assumed to be that of the last one of its
 * kind. New rows at the end take the same time however many rows stand before them.
 */
export class RowOffsets {
  #estimate;
  /** Height of the last drawn row of each kind. */
  #typical = new Map();
  #keys = [];
  #kinds = [];
  #places = new Map();
  #heights = new Map();
  /** Where row `index` begins, and at the end, where the last row ends. */
  #starts = [0];
  /** `#starts` is valid for the rows before this one. */
  #valid = 0;

  constructor(estimate) {
    this.#estimate = estimate;
  }

  /** Updates the rows: the known ones and more, or others. `rowAt`: `(index) => {key, kind}`. */
  update(count, rowAt) {
    const before = this.#keys.length;
    if (count < before || (before > 0 && rowAt(before - 1).key !== this.#keys[before - 1])) {
      this.#keys = [];
      this.#places.clear();
      this.#valid = 0;
    }
    for (let index = this.#keys.length; index < count; index += 1) {
      const { key, kind } = rowAt(index);
      this.#keys.push(key);
      this.#kinds[index] = kind;
      this.#places.set(key, index);
    }
    for (let index = this.#valid; index < count; index += 1) {
      const typical = this.#typical.get(this.#kinds[index]) ?? this.#estimate;
      this.#starts[index + 1] = this.#starts[index] + (this.#heights.get(this.#keys[index]) ?? typical);
    }
    this.#valid = count;
  }

  /** Records the height of a drawn row. Returns whether that moves other rows. */
  measured(key, height) {
    this.#heights.set(key, height);
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#typical.set(this.#kinds[place], height);
    if (place < this.#valid && Math.abs(this.#starts[place + 1] - this.#starts[place] - height) < EPSILON) return false;
    this.#valid = Math.min(this.#valid, place);
    return true;
  }

  keyAt(index) {
    return this.#keys[index];
  }

  startOf(index) {
    return this.#starts[index];
  }

  get total() {
    return this.#starts[this.#keys.length];
  }

  /** The rows that overlap `top` to `bottom`: `[first, end]`, without the end. */
  between(top, bottom) {
    const count = this.#keys.length;
    return [Math.max(0, this.#firstAfter(top) - 1), Math.min(count, this.#firstAfter(bottom))];
  }

  /** Index of the first row that begins after `at`, or one beyond the last. */
  #firstAfter(at) {
    let low = 0;
    let high = this.#keys.length + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
