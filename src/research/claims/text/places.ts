interface Range {
  start: number;
  end: number;
}

/** The places of a text that ranges take up, so that many ranges can be looked up in linear time. */
export class Places {
  readonly #taken: Uint8Array;

  constructor(text: string, ranges: Iterable<Range> = []) {
    this.#taken = new Uint8Array(text.length);
    for (const range of ranges) this.add(range);
  }

  add({ start, end }: Range): void {
    this.#taken.fill(1, start, end);
  }

  has(place: number): boolean {
    return this.#taken[place] === 1;
  }

  touches({ start, end }: Range): boolean {
    return this.#taken.subarray(start, end).includes(1);
  }
}
