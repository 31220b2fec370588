import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Random, seededRandom } from './random.ts';
import { type Kind, RELATIONS, type RelationName, sayAbout, sayRelation } from './relations.ts';
import type { Entity, World } from './world.ts';

/** A document of the corpus. */
export interface CorpusDocument {
  /** Relative to the corpus folder; says nothing of the content. */
  path: string;
  /** The entity that it is about; its title may say something vaguer. */
  about: string;
  text: string;
}

const HEADINGS: Readonly<Record<Kind, readonly string[]>> = {
  city: ['Situation', 'Town and council', 'Trade'],
  person: ['Early years', 'Work', 'Legacy'],
  company: ['History', 'Today', 'Collection'],
  product: ['Design', 'Use', 'Reception'],
  museum: ['The house', 'The collection', 'Visiting'],
};

/** Titles of documents that do not name what they are about; `{y}` keeps them apart. */
const VAGUE_TITLES: Readonly<Record<Kind, string>> = {
  city: 'Notes on a town, gathered in {y}',
  person: 'A working life, told in {y}',
  company: 'From the history of a firm, part {y}',
  product: 'A tool and its users, sheet {y}',
  museum: 'Guide to a collection, edition of {y}',
};
/** Of a hundred documents, so many have a vague title. */
const VAGUE_PERCENT = 40;

/** Sentences that say nothing asked for. `{n}` is another name of the world, `{y}` a year. */
const FILLERS = [
  'A report of {y} mentions {n} in passing.',
  'Visitors in {y} compared it with {n}, not always kindly.',
  'An exhibition in {y} showed it beside {n}.',
  'The archive burned in {y}, so that little is known of the years before.',
  'It is not to be mixed up with {n}.',
  'A letter of {y} complains about the price of coal.',
  'Most of what is told about it today goes back to a school book of {y}.',
  'The records of {n} name it twice.',
  'A storm in {y} did much damage and brought many helpers.',
  'Painters of the time liked the light in the morning.',
  'Its anniversary in {y} was a quiet one.',
  'Nobody has counted the steps, though many claim to have done so.',
];

/** One document for each entity of the world, in random order, so that paths tell nothing. */
export function writeDocuments(world: World, seed: number): CorpusDocument[] {
  const random = seededRandom(seed + 1);
  const names = world.entities.map((each) => each.name);
  return random.sample(world.entities, world.entities.length).map((entity, index) => {
    const html = index % 4 === 3;
    const number = String(index + 1).padStart(4, '0');
    const sections = sectionsOf(entity, { names, random });
    const vague = random.integer(1, 100) <= VAGUE_PERCENT;
    if (vague) sections[0]?.sentences.unshift(sayAbout(entity.name));
    const title = vague ? VAGUE_TITLES[entity.kind].replace('{y}', String(1000 + index)) : entity.name;
    return {
      about: entity.name,
      path: `${String.fromCharCode(97 + (index % 6))}/${number}.${html ? 'html' : 'md'}`,
      text: html ? asHtml(title, sections) : asMarkdown(title, sections),
    };
  });
}

/** Writes the corpus into a folder. */
export async function saveDocuments(folder: string, documents: readonly CorpusDocument[]): Promise<void> {
  for (const { path, text } of documents) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

interface Section {
  heading: string;
  sentences: string[];
}

function sectionsOf(entity: Entity, { names, random }: { names: readonly string[]; random: Random }): Section[] {
  const sections = HEADINGS[entity.kind].map((heading): Section => ({ heading, sentences: [] }));
  const filler = () =>
    random
      .pick(FILLERS)
      .replace('{n}', random.pick(names))
      .replace('{y}', String(random.integer(1700, 1990)));
  for (const section of sections) section.sentences.push(...Array.from({ length: random.integer(8, 16) }, filler));
  for (const [relation, object] of Object.entries(entity.facts)) {
    const { sentences } = RELATIONS[relation as RelationName];
    const said = sayRelation(random.pick(sentences), { subject: entity.name, object });
    const section = random.pick(sections);
    section.sentences.splice(random.integer(0, section.sentences.length), 0, said);
  }
  return sections;
}

function asMarkdown(title: string, sections: readonly Section[]): string {
  return [`# ${title}`, ...sections.map(({ heading, sentences }) => `## ${heading}\n\n${sentences.join(' ')}`)]
    .join('\n\n')
    .concat('\n');
}

function asHtml(title: string, sections: readonly Section[]): string {
  const body = sections
    .map(({ heading, sentences }) => `<h2>${heading}</h2>\n<p>${sentences.join(' ')}</p>`)
    .join('\n');
  return `<!doctype html>
<html lang="en"><head><title>${title}</title></head>
<body><nav><a href="/">Home</a> <a href="/all">All entries</a></nav>
<main><article><h1>${title}</h1>
${body}
</article></main></body></html>
`;
}
