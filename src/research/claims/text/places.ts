interface Range {
  start: number;
  end: number;
}

/** The places of a text that ranges take up, so that many ranges can be looked up in linear time. */
export class Places {
  readonly #length: number;
  /** Most sentences have no range. */
  #taken: Uint8Array | undefined;

  constructor({ length }: string, ranges: Iterable<Range> = []) {
    this.#length = length;
    for (const range of ranges) this.add(range);
  }

  add({ start, end }: Range): void {
    this.#taken ??= new Uint8Array(this.#length);
    this.#taken.fill(1, start, end);
  }

  has(place: number): boolean {
    return this.#taken?.[place] === 1;
  }

  touches({ start, end }: Range): boolean {
    return this.#taken?.subarray(start, end).includes(1) ?? false;
  }
}
