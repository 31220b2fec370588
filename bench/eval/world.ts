import { type Random, seededRandom } from './random.ts';
import type { Kind, RelationName } from './relations.ts';

/** A thing that one document is about, and what is true of it: the name of another one, or a year. */
export interface Entity {
  kind: Kind;
  name: string;
  facts: Partial<Record<RelationName, string>>;
}

/** An invented world: no model can know it by heart, and every answer is known. */
export interface World {
  entities: readonly Entity[];
  byName: ReadonlyMap<string, Entity>;
}

const COUNTS: Readonly<Record<Kind, number>> = { city: 44, person: 72, company: 48, product: 48, museum: 28 };

const STARTS = 'Bel Cor Dar Fen Gal Hal Jor Kel Lor Mar Nor Ost Per Quil Ros Sel Tarn Ul Ves Wen Yar Zel'.split(' ');
const ENDS =
  'bruck by dale den fell field ford gate ham holm lin low mark mere mouth ness rick stad thorpe vik wick'.split(' ');
const FIRST_NAMES =
  'Ada Anselm Berit Caspar Dorothea Edvard Elspeth Florian Greta Hanno Ilse Jonas Katrin Lennart Mirjam Nils Odile Piet Ragna Silvan Tilda Ulrik Vera Wilma'.split(
    ' ',
  );
const TRADES = 'Works Mill Foundry Instruments Yard Brothers'.split(' ');
const MAKES = 'loom pump lantern kiln barometer plough organ turbine sextant press'.split(' ');
const HOUSES = 'Maritime Museum|Glass Museum|Museum of Clocks|Salt Museum|Railway Museum|Museum of Maps'.split('|');

/** Makes the world of a seed. Names are alike on purpose: several firms, tools and people share a part of theirs. */
export function makeWorld(seed: number): World {
  const random = seededRandom(seed);
  const roots = random.sample(
    STARTS.flatMap((start) => ENDS.map((end) => start + end)),
    160,
  );
  const take = (count: number) => roots.splice(0, count);
  const cities = take(COUNTS.city);
  const rivers = take(12);
  const people = namePairs(random, { roots: take(24), words: FIRST_NAMES, each: 3, before: true });
  const companies = namePairs(random, { roots: take(24), words: TRADES, each: 2, before: false });
  const products = namePairs(random, { roots: take(16), words: MAKES, each: 3, before: false });
  const museums = random.sample(
    cities.flatMap((city) => HOUSES.map((house) => `${city} ${house}`)),
    COUNTS.museum,
  );
  const year = (from: number, to: number) => String(random.integer(from, to));
  const entities: Entity[] = [
    ...cities.map((name) =>
      entity('city', name, { river: random.pick(rivers), mayor: random.pick(people), city_year: year(1100, 1650) }),
    ),
    ...people.map((name) =>
      entity('person', name, { born_in: random.pick(cities), taught_by: random.pick(others(people, name)) }),
    ),
    ...companies.map((name) =>
      entity('company', name, {
        founded_by: random.pick(people),
        company_year: year(1780, 1960),
        seat: random.pick(cities),
      }),
    ),
    ...products.map((name) => entity('product', name, { made_by: random.pick(companies) })),
    // Named after one town and standing in another, as such houses are.
    ...museums.map((name) =>
      entity('museum', name, { stands_in: random.pick(cities.filter((city) => !name.startsWith(city))) }),
    ),
  ];
  return { entities, byName: new Map(entities.map((each) => [each.name, each])) };
}

function entity(kind: Kind, name: string, facts: Entity['facts']): Entity {
  return { kind, name, facts };
}

function others(names: readonly string[], name: string): string[] {
  return names.filter((other) => other !== name);
}

/** Names that share their root with others: `Tarnfeld Mill` and `Tarnfeld Works`. */
function namePairs(
  random: Random,
  parts: { roots: readonly string[]; words: readonly string[]; each: number; before: boolean },
): string[] {
  return parts.roots.flatMap((root) =>
    random.sample(parts.words, parts.each).map((word) => (parts.before ? `${word} ${root}` : `${root} ${word}`)),
  );
}
