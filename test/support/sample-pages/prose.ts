/** A small seeded generator of numbers (mulberry32): the same seed gives the same page. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SUBJECTS = [
  'The survey',
  'A later study',
  'The committee',
  'Our station',
  'The new design',
  'Field work',
  'The archive',
];
const VERBS = ['measured', 'reported', 'confirmed', 'compared', 'described', 'questioned', 'replaced'];
const OBJECTS = [
  'the tidal range',
  'heat losses',
  'wage growth',
  'the older method',
  'river levels',
  'grain prices',
  'cell counts',
];
const PLACES = [
  'in the northern districts',
  'at 12–15 °C',
  'over 1990–2005',
  'with an error of ±0.3 %',
  'near the harbour',
  'for (0, 1]',
];

/** Text for pages, sentence by sentence, and what a reader must find again. */
export class Prose {
  readonly #random: () => number;
  /** Every sentence given out so far. */
  readonly sentences: string[] = [];

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  number(low: number, high: number): number {
    return low + Math.floor(this.#random() * (high - low + 1));
  }

  pick<T>(from: readonly T[]): T {
    const chosen = from[Math.floor(this.#random() * from.length)];
    if (chosen === undefined) throw new Error('nothing to pick from');
    return chosen;
  }

  /** A sentence with a number of its own, so that no two are alike. */
  sentence(): string {
    const parts = [this.pick(SUBJECTS), this.pick(VERBS), this.pick(OBJECTS), this.pick(PLACES)];
    const text = `${parts.join(' ')}, item ${this.number(10_000, 99_999)}-${this.sentences.length}.`;
    this.sentences.push(text);
    return text;
  }

  paragraph(sentences = 4): string {
    return Array.from({ length: sentences }, () => this.sentence()).join(' ');
  }

  /** Paragraphs as `<p>` elements. */
  paragraphs(count: number): string {
    return Array.from({ length: count }, () => `<p>${escapeHtml(this.paragraph())}</p>`).join('\n');
  }
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A page and what reading it must give. */
export interface SamplePage {
  name: string;
  contentType: string;
  body: string | Uint8Array;
  title: string;
  /** Texts of the main part, in the words that must survive. */
  present: string[];
  /** Texts around it that must not appear. */
  absent: string[];
  /** Markdown that must appear literally, with `ORIGIN` for the origin of the site. */
  markdown: string[];
  author?: string;
  published?: string;
}

/** Phrases that surround most pages and must not be read. */
export const SURROUNDINGS = {
  header:
    '<header class="site-header"><a href="/">Noisehome</a><nav><ul><li><a href="/a">Noisenav Alpha</a></li><li><a href="/b">Noisenav Beta</a></li><li><a href="/c">Noisenav Gamma</a></li></ul></nav></header>',
  sidebar:
    '<div class="sidebar"><h3>Noiserelated</h3><ul><li><a href="/1">Noiselink one</a></li><li><a href="/2">Noiselink two</a></li><li><a href="/3">Noiselink three</a></li></ul></div>',
  cookie: '<div id="cookie-consent" class="modal"><p>Noisecookies are used here.</p><button>Noiseaccept</button></div>',
  footer: '<footer><p>Noisecopyright 2024</p><a href="/imprint">Noiseimprint</a></footer>',
  scripts: '<script>var noisescript = "<p>Noisescript</p>";</script><style>.noisestyle { color: red }</style>',
} as const;
