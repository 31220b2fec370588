import type { Random } from '../../random.ts';
import type { Article, Block, Inline, Section } from './article.ts';
import { VOCABULARIES, type Vocabulary } from './vocabulary.ts';

/** Which kinds of blocks a layout publishes. */
export type Kinds = readonly Block['kind'][];

const FIRST = [
  'Ada',
  'Bruno',
  'Chidi',
  'Dagny',
  'Emeka',
  'Fleur',
  'Goran',
  'Hanae',
  'Ilse',
  'Joaquim',
  'Keiko',
  'Lars',
];
const LAST = [
  'Abrahamsen',
  'Bellweather',
  'Castellan',
  'Drosselmeyer',
  'Eastermann',
  'Fontanelli',
  'Grunwald',
  'Hoshino',
];
const NAMES = ['orbit', 'lumen', 'kestrel', 'basalt', 'tundra', 'quill', 'ferric', 'sable', 'marlin', 'cobalt'];

/** An article about nothing, whose chapters are titled with words that are furniture elsewhere. */
export function writeArticle(random: Random, kinds: Kinds): Article {
  const language = random.pick(['en', 'en', 'en', 'en', 'de', 'fr'] as const);
  const writer = new Writer(random, VOCABULARIES[language], kinds);
  const published = day(random, 2015, 2022);
  return {
    title: writer.title(),
    language,
    author: personName(random),
    published,
    updated: day(random, 2023, 2025),
    lead: [writer.paragraph(), writer.paragraph()],
    sections: writer.sections(random.integer(5, 9)),
  };
}

export function personName(random: Random): string {
  return `${random.pick(FIRST)} ${random.pick(LAST)}`;
}

/** One sentence, for what a layout adds by itself (comments, replies). */
export function sentence(random: Random, language: Article['language']): string {
  return new Writer(random, VOCABULARIES[language], []).sentence();
}

function day(random: Random, from: number, to: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${random.integer(from, to)}-${two(random.integer(1, 12))}-${two(random.integer(1, 28))}`;
}

class Writer {
  readonly #random: Random;
  readonly #words: Vocabulary;
  readonly #kinds: Kinds;

  constructor(random: Random, words: Vocabulary, kinds: Kinds) {
    this.#random = random;
    this.#words = words;
    this.#kinds = kinds;
  }

  sections(count: number): Section[] {
    const titles = this.#random.sample(this.#words.titles, count * 2).map((title) => this.#heading(title));
    return Array.from({ length: count }, (_, at) => {
      const inner = this.#random.integer(0, 2) === 0 ? titles[count + at] : undefined;
      const children = inner === undefined ? [] : [this.#section(inner, 3, [])];
      return this.#section(titles[at] ?? '', 2, children);
    });
  }

  title(): string {
    return capital(`${this.#random.pick(this.#words.subjects)} ${this.#random.pick(this.#words.endings)}`);
  }

  sentence(): string {
    const { subjects, verbs, objects, places, joins } = this.#words;
    const clause = () =>
      [subjects, verbs, objects, places].map((words) => this.#random.pick(words)).join(' ') +
      (this.#chance(4) ? ` (${this.#random.integer(2, 990)})` : '');
    return capital(this.#chance(2) ? `${clause()}, ${this.#random.pick(joins)} ${clause()}.` : `${clause()}.`);
  }

  paragraph(): Block {
    const parts: Inline[] = [];
    if (this.#chance(5)) parts.push(`${this.#random.pick(this.#words.openings)} ${lower(this.sentence())} `);
    for (let left = this.#random.integer(1, 4); left > 0; left--) parts.push(`${this.sentence()} `);
    parts.push(...this.#aside(), this.sentence());
    return { kind: 'paragraph', parts };
  }

  #section(title: string, level: number, children: Section[]): Section {
    const others = this.#kinds.filter((kind) => kind !== 'paragraph');
    const blocks = [
      this.paragraph(),
      ...this.#random.sample(others, this.#random.integer(0, 2)).map((k) => this.#block(k)),
    ];
    if (this.#chance(2)) blocks.push(this.paragraph());
    return { title, level, id: slug(title), blocks, children };
  }

  #heading(title: string): string {
    return this.#chance(3) ? `${title} ${this.#random.pick(this.#words.endings)}` : title;
  }

  #aside(): Inline[] {
    const which = this.#random.integer(0, 5);
    const name = this.#random.pick(NAMES);
    const number = this.#random.integer(10, 999);
    if (which === 0)
      return ['[', { text: `${name} ${number}`, url: `https://docs.example.net/${name}/${number}` }, '] '];
    if (which === 1) return ['(', { text: `${name} notes ${number}`, url: `/notes/${name}-${number}` }, ') '];
    if (which === 2) return [{ code: `${name}.${number}` }, ' : '];
    if (which === 3 && this.#chance(2)) return ['E = ', { base: `m${number}`, power: '2' }, ' . '];
    return [];
  }

  #block(kind: Block['kind']): Block {
    const { integer } = this.#random;
    const some = (count: number) => Array.from({ length: count }, () => this.sentence());
    switch (kind) {
      case 'paragraph':
        return this.paragraph();
      case 'code':
        return this.#code();
      case 'table':
        return this.#table();
      case 'list':
        return { kind, ordered: this.#chance(3), items: this.#chance(3) ? this.#shortItems() : some(integer(2, 5)) };
      case 'figure':
        return { kind, alt: this.#random.pick(NAMES), caption: this.sentence() };
      case 'note':
        return { kind, text: this.sentence() };
      case 'question':
        return { kind, question: `${this.sentence().slice(0, -1)}?`, answer: `${this.sentence()} ${this.sentence()}` };
      case 'panels':
        return { kind, panels: [this.#panel('npm'), this.#panel('yarn'), this.#panel('Manual')] };
    }
  }

  #panel(label: string) {
    return { label, blocks: [this.#chance(3) ? this.paragraph() : this.#code()] };
  }

  #shortItems(): string[] {
    return Array.from({ length: this.#random.integer(3, 6) }, () => this.#random.pick(this.#words.objects));
  }

  #table(): Block {
    const columns = this.#random.integer(2, 5);
    const head = this.#random.sample(this.#words.objects, columns).map(capital);
    const rows = Array.from({ length: this.#random.integer(2, 6) }, () => [
      `${this.#random.pick(NAMES)}_${this.#random.integer(100, 9999)}`,
      ...Array.from({ length: columns - 1 }, () => this.#cell()),
    ]);
    return { kind: 'table', head, rows };
  }

  #cell(): string {
    return this.#chance(2) ? `${this.#random.integer(1, 9000) / 10} %` : this.#random.pick(this.#words.places);
  }

  #code(): Block {
    const language = this.#random.pick(['yaml', 'python', 'bash', 'js']);
    const name = this.#random.pick(NAMES);
    const number = this.#random.integer(10, 9999);
    const lines: Record<string, string[]> = {
      yaml: [
        `# Tags of ${name}`,
        `${name}:`,
        `  share: ${number}`,
        '  subscribe:',
        `    - "${name}-${number}"`,
        '',
        'comments: []',
      ],
      python: [
        `def ${name}_${number}(rows):`,
        '    # Comments',
        '    for row in rows:',
        `        if row < ${number} & 7:`,
        `            yield row["${name}"]`,
      ],
      bash: [
        `npm install ${name}-${number}`,
        `export ${name.toUpperCase()}=${number}`,
        `curl -s https://example.org/${name} | head -n ${number}`,
      ],
      js: [
        `import { ${name} } from '${name}-${number}';`,
        '',
        `export const menu = ${name}((a) => {`,
        `  return a <= ${number} && a;`,
        '});',
      ],
    };
    return { kind: 'code', language, lines: lines[language] ?? [] };
  }

  /** One in `of`. */
  #chance(of: number): boolean {
    return this.#random.integer(1, of) === 1;
  }
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function lower(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
