import { percentDecoded } from '../../../../base/text.ts';
import { xmlEvents } from './xml-events.ts';
import type { ZipFile } from './zip-file.ts';

interface Relation {
  /** The last part of its type, such as `styles`. */
  type: string;
  /** A path in the file, or an address outside of it. */
  target: string;
}

/** A part of an Office file with what it refers to: parts are found by their relationships, their names are free (ECMA-376, part 2). */
export class PackagePart {
  readonly #zip: ZipFile;
  readonly #path: string;
  /** By their ids. A document with many links asks for each. */
  readonly #relations: ReadonlyMap<string, Relation>;

  private constructor(zip: ZipFile, path: string, relations: ReadonlyMap<string, Relation>) {
    this.#zip = zip;
    this.#path = path;
    this.#relations = relations;
  }

  /** The document itself; `usual` is where most programs put it. */
  static async main(zip: ZipFile, usual: string): Promise<PackagePart> {
    const root = await PackagePart.at(zip, '');
    const path = root.related('officeDocument').find((target) => zip.has(target)) ?? usual;
    return PackagePart.at(zip, path);
  }

  static async at(zip: ZipFile, path: string): Promise<PackagePart> {
    const folder = path.slice(0, path.lastIndexOf('/') + 1);
    const xml = await zip.text(`${folder}_rels/${path.slice(folder.length)}.rels`);
    return new PackagePart(zip, path, relations(xml, folder));
  }

  text(): Promise<string> {
    return this.#zip.text(this.#path);
  }

  /** What it refers to by this id, or nothing. */
  target(id: string): string {
    return this.#relations.get(id)?.target ?? '';
  }

  /** The paths of the parts of one type that it refers to. */
  related(type: string): string[] {
    return [...this.#relations.values()].filter((relation) => relation.type === type).map(({ target }) => target);
  }

  /** The text of the part of one type that it refers to, else of the one of that name beside it, or nothing. */
  textOf(type: string): Promise<string> {
    const folder = this.#path.slice(0, this.#path.lastIndexOf('/') + 1);
    return this.#zip.text(this.related(type)[0] ?? `${folder}${type}.xml`);
  }
}

function relations(xml: string, folder: string): Map<string, Relation> {
  const found = new Map<string, Relation>();
  for (const event of xmlEvents(xml)) {
    if (event.kind !== 'open' || event.name !== 'relationship') continue;
    const target = event.attribute('Target');
    const isOutside = /^[a-z][a-z+.-]*:/i.test(target);
    const type = event.attribute('Type').split('/').at(-1) ?? '';
    found.set(event.attribute('Id'), { type, target: isOutside ? target : partPath(target, folder) });
  }
  return found;
}

/** The path that a part in `folder` calls `target`, percent-encoding undone. */
export function partPath(target: string, folder: string): string {
  const path = URL.parse(target, `file:///${folder}`)?.pathname.slice(1) ?? '';
  return percentDecoded(path) ?? path;
}
