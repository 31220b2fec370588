const P = ['p'];
const CELLS = ['th', 'td'];
const SECTIONS = ['thead', 'tbody'];
const TERMS = ['dd', 'dt'];
const RUBY = ['rt', 'rp'];
const BLOCKS =
  'p h1 h2 h3 h4 h5 h6 address article aside blockquote details div dl fieldset figcaption figure footer form header hr main nav ol pre section table ul';

/** Open elements that end where one of this name begins, as htmlparser2 has it; that and no other parser reads it. */
const ENDS: ReadonlyMap<string, readonly string[]> = new Map([
  ...BLOCKS.split(' ').map((name): [string, readonly string[]] => [name, P]),
  ['li', ['li']],
  ['tr', ['tr', ...CELLS]],
  ['th', ['th']],
  ['td', ['thead', ...CELLS]],
  ['option', ['option']],
  ['optgroup', ['optgroup', 'option']],
  ['dd', TERMS],
  ['dt', TERMS],
  ['rt', RUBY],
  ['rp', RUBY],
  ['tbody', SECTIONS],
  ['tfoot', SECTIONS],
]);

const VOID = new Set(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr'.split(
    ' ',
  ),
);

/** Elements of formulas whose content is HTML again. */
const INTEGRATION = ['mi', 'mo', 'mn', 'ms', 'mtext', 'annotation-xml', 'foreignobject', 'desc', 'title'];

/**
 * The elements that are open while a page is read tag by tag: how deep the tree of the parser will be. End tags that
 * belong to nothing close nothing, and elements that nothing closes stay open: counting tags alone is led astray.
 */
export class OpenElements {
  readonly #names: string[] = [];
  readonly #counts = new Map<string, number>();
  /** The most that were open at once. */
  deepest = 0;

  open(name: string, { selfClosing }: { selfClosing: boolean }): void {
    const ended = ENDS.get(name);
    while (ended?.includes(this.#names.at(-1) ?? '')) this.#pop();
    // The slash of `<div/>` means something inside of formulas only.
    if (VOID.has(name) || (selfClosing && this.#isInFormula())) return;
    this.#names.push(name);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.deepest = Math.max(this.deepest, this.#names.length);
  }

  close(name: string): void {
    if (!this.#isOpen(name)) return;
    while (this.#pop() !== name);
  }

  #isInFormula(): boolean {
    return this.#isOpen('math') && !INTEGRATION.some((name) => this.#isOpen(name));
  }

  #isOpen(name: string): boolean {
    return (this.#counts.get(name) ?? 0) > 0;
  }

  #pop(): string | undefined {
    const name = this.#names.pop();
    if (name !== undefined) this.#counts.set(name, (this.#counts.get(name) ?? 1) - 1);
    return name;
  }
}
