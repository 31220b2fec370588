/** Heights that differ by less are the same, in pixels. */
const SAME = 0.5;

/**
 * Where the rows of a list begin, in pixels. Until a row was drawn it is taken to be as high as the last of its kind. What
 * is known stays known: new rows at the end cost what they cost, however many stand before them.
 */
export class RowOffsets {
  #estimate;
  /** Heights of the rows that were drawn last, by kind. */
  #usual = new Map();
  #keys = [];
  #kinds = [];
  #places = new Map();
  #heights = new Map();
  /** Where row `index` begins; one more than there are rows. */
  #starts = [0];
  /** Rows before this one begin where `#starts` says. */
  #right = 0;

  constructor(estimate) {
    this.#estimate = estimate;
  }

  /** Takes the rows that there are: those of before and more, or others. `rowAt`: `(index) => {key, kind}`. */
  update(count, rowAt) {
    const before = this.#keys.length;
    if (count < before || (before > 0 && rowAt(before - 1).key !== this.#keys[before - 1])) {
      this.#keys = [];
      this.#places.clear();
      this.#right = 0;
    }
    for (let index = this.#keys.length; index < count; index += 1) {
      const { key, kind } = rowAt(index);
      this.#keys.push(key);
      this.#kinds[index] = kind;
      this.#places.set(key, index);
    }
    for (let index = this.#right; index < count; index += 1) {
      const usual = this.#usual.get(this.#kinds[index]) ?? this.#estimate;
      this.#starts[index + 1] = this.#starts[index] + (this.#heights.get(this.#keys[index]) ?? usual);
    }
    this.#right = count;
  }

  /** Takes the height of a row that was drawn; gives whether that moves others. */
  measured(key, height) {
    this.#heights.set(key, height);
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#usual.set(this.#kinds[place], height);
    if (place < this.#right && Math.abs(this.#starts[place + 1] - this.#starts[place] - height) < SAME) return false;
    this.#right = Math.min(this.#right, place);
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

  /** The rows of which something stands between `top` and `bottom`: `[first, end]`, the end not among them. */
  between(top, bottom) {
    const count = this.#keys.length;
    return [Math.max(0, this.#firstAfter(top) - 1), Math.min(count, this.#firstAfter(bottom))];
  }

  /** Index of the first row that begins after `at`, or more than there are rows. */
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
