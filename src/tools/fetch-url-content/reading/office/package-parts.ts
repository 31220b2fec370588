import { percentDecode } from '../../../../base/text.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

interface Relationship {
  /** The last part of its type, such as `styles`. */
  type: string;
  /** A path in the file, or an address outside of it. */
  target: string;
}

/** A part of an Office file and its relationships, by which other parts are found: names are free (ECMA-376, part 2). */
export class PackagePart {
  readonly #zip: ZipFile;
  readonly #path: string;
  /** By id. A document with many links looks up each of them. */
  readonly #relationships: ReadonlyMap<string, Relationship>;

  private constructor(zip: ZipFile, path: string, relationships: ReadonlyMap<string, Relationship>) {
    this.#zip = zip;
    this.#path = path;
    this.#relationships = relationships;
  }

  /** The main part, by default at `defaultPath`, where most programs put it. */
  static async main(zip: ZipFile, defaultPath: string): Promise<PackagePart> {
    const root = await PackagePart.at(zip, '');
    const path = root.related('officeDocument').find((target) => zip.has(target)) ?? defaultPath;
    return PackagePart.at(zip, path);
  }

  static async at(zip: ZipFile, path: string): Promise<PackagePart> {
    const folder = path.slice(0, path.lastIndexOf('/') + 1);
    const xml = await zip.text(`${folder}_rels/${path.slice(folder.length)}.rels`);
    return new PackagePart(zip, path, relationships(xml, folder));
  }

  text(): Promise<string> {
    return this.#zip.text(this.#path);
  }

  /** The target of the relationship with this id; empty if there is none. */
  target(id: string): string {
    return this.#relationships.get(id)?.target ?? '';
  }

  /** The paths of the related parts of a type. */
  related(type: string): string[] {
    return [...this.#relationships.values()].filter((relation) => relation.type === type).map(({ target }) => target);
  }

  /** The text of the related part of a type, else of the part with that name beside it; empty if there is neither. */
  textOf(type: string): Promise<string> {
    const folder = this.#path.slice(0, this.#path.lastIndexOf('/') + 1);
    return this.#zip.text(this.related(type)[0] ?? `${folder}${type}.xml`);
  }
}

function relationships(xml: string, folder: string): Map<string, Relationship> {
  const found = new Map<string, Relationship>();
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open' || event.name !== 'relationship') continue;
    const target = event.attribute('Target');
    const isOutside = /^[a-z][a-z+.-]*:/i.test(target);
    const type = event.attribute('Type').split('/').at(-1) ?? '';
    found.set(event.attribute('Id'), { type, target: isOutside ? target : partPath(target, folder) });
  }
  return found;
}

/** Resolves the path `target` of a part in `folder`, percent-decoded. */
export function partPath(target: string, folder: string): string {
  const path = URL.parse(target, `file:///${folder}`)?.pathname.slice(1) ?? '';
  return percentDecode(path) ?? path;
}
