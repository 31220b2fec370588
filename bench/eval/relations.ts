/**
 * What the documents of the evaluation say about their subjects, and in which words. The generator writes these
 * sentences; the scripted researcher reads them. `{s}` is the subject, `{o}` what is said of it; a sentence without
 * `{s}` speaks of the subject of its document.
 */

export type Kind = 'city' | 'person' | 'company' | 'product' | 'museum';

export type RelationName =
  | 'made_by'
  | 'founded_by'
  | 'company_year'
  | 'seat'
  | 'born_in'
  | 'taught_by'
  | 'river'
  | 'mayor'
  | 'city_year'
  | 'stands_in';

export interface Relation {
  of: Kind;
  /** Words that a researcher would add to the subject when searching. */
  query: string;
  sentences: readonly string[];
}

export const RELATIONS: Readonly<Record<RelationName, Relation>> = {
  made_by: {
    of: 'product',
    query: 'maker manufacturer',
    sentences: [
      'The {s} is made by {o}.',
      'Every {s} leaves the halls of {o} with a numbered plate.',
      'It is built to this day by {o}.',
    ],
  },
  founded_by: {
    of: 'company',
    query: 'founder founded by',
    sentences: [
      '{s} was founded by {o}.',
      'It was {o} who set up {s} in a rented shed.',
      'The firm goes back to its founder {o}.',
    ],
  },
  company_year: {
    of: 'company',
    query: 'founding year',
    sentences: [
      '{s} was entered in the trade register in {o}.',
      'Work at {s} began in {o}.',
      'The firm has existed since {o}.',
    ],
  },
  seat: {
    of: 'company',
    query: 'seat headquarters',
    sentences: ['{s} has its seat in {o}.', 'The offices of {s} are in {o}.', 'The firm is run from {o}.'],
  },
  born_in: {
    of: 'person',
    query: 'born birthplace',
    sentences: [
      '{s} was born in {o}.',
      'The birthplace of {s} is {o}.',
      'The family lived in {o} when the child was born.',
    ],
  },
  taught_by: {
    of: 'person',
    query: 'teacher apprentice studied',
    sentences: [
      '{s} learned the trade from {o}.',
      'As an apprentice, {s} worked under {o}.',
      'The one teacher ever named in the letters is {o}.',
    ],
  },
  river: {
    of: 'city',
    query: 'river',
    sentences: [
      '{s} lies on the river {o}.',
      'The old harbour of {s} opens to the river {o}.',
      'The town grew along the river {o}.',
    ],
  },
  mayor: {
    of: 'city',
    query: 'mayor',
    sentences: [
      'The mayor of {s} is {o}.',
      'Since the last vote, {s} has been led by {o}.',
      'The town hall is headed by {o}.',
    ],
  },
  city_year: {
    of: 'city',
    query: 'founded town charter year',
    sentences: [
      '{s} received its town charter in {o}.',
      'The charter of {s} is dated {o}.',
      'The town was chartered in {o}.',
    ],
  },
  stands_in: {
    of: 'museum',
    query: 'town location',
    sentences: [
      'The {s} stands in {o}.',
      'Visitors find the {s} near the station of {o}.',
      'The house was built in {o}.',
    ],
  },
};

/** A name of several capitalised words, or a year. */
const OBJECT = "(?<o>\\d{4}|\\p{Lu}[\\p{L}'-]+(?: \\p{Lu}[\\p{L}'-]+)*)";

/**
 * What a text says of a subject, or undefined. `about`: the text is the document about the subject, so that sentences
 * without its name count too.
 */
export function readRelation(
  text: string,
  wanted: { relation: RelationName; subject: string; about: boolean },
): string | undefined {
  for (const sentence of RELATIONS[wanted.relation].sentences) {
    if (!wanted.about && !sentence.includes('{s}')) continue;
    const pattern = escapePattern(sentence)
      .replace('\\{s\\}', escapePattern(wanted.subject))
      .replace('\\{o\\}', OBJECT);
    const found = new RegExp(pattern.replaceAll(' ', '\\s+'), 'u').exec(text)?.groups?.o;
    if (found !== undefined) return found.replace(/\s+/g, ' ');
  }
  return undefined;
}

/** The first sentence of a document whose title does not name its subject. */
export function sayAbout(subject: string): string {
  return `This entry describes ${subject}.`;
}

/** A sentence that says it. */
export function sayRelation(sentence: string, said: { subject: string; object: string }): string {
  return sentence.replace('{s}', said.subject).replace('{o}', said.object);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
