import { hash } from 'node:crypto';

/** Tool names that every provider accepts (OpenAI: `^[a-zA-Z0-9_-]{1,64}$`). */
const SAFE = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Maps tool names to what a provider accepts and back: `server.tool` becomes `server__tool`, since most providers refuse
 * dots. The mapping is stable, so that calls of earlier turns keep their names.
 */
export class ToolNames {
  readonly #safe = new Map<string, string>();
  readonly #original = new Map<string, string>();

  constructor(names: Iterable<string>) {
    for (const name of names) this.safe(name);
  }

  safe(name: string): string {
    const known = this.#safe.get(name);
    if (known !== undefined) return known;
    let safe = SAFE.test(name) ? name : shortened(name.replaceAll('.', '__').replace(/[^a-zA-Z0-9_-]/g, '_'), name);
    if (this.#original.has(safe)) safe = shortened(`${safe}_${digest(name)}`, name);
    this.#safe.set(name, safe);
    this.#original.set(safe, name);
    return safe;
  }

  /** The tool that a name in an answer stands for; models also add prefixes, or write the real name. */
  original(safe: string): string {
    const exact = this.#original.get(safe);
    if (exact !== undefined) return exact;
    const meant = meantTool(safe, [...this.#safe.keys()]) ?? meantTool(safe, [...this.#original.keys()]);
    return meant === undefined ? safe : (this.#original.get(meant) ?? meant);
  }
}

/** A longer name is no other tool's in other letters, in UTF-16 code units. */
const LONGEST = 256;

/**
 * The known tool that a written name means: models add prefixes, numbers or a server's name, and servers leave special
 * tokens behind it (`search<|channel|>commentary` of gpt-oss, `search</arg_value>` of GLM).
 */
export function meantTool(written: string, known: readonly string[]): string | undefined {
  const plain = written
    .replace(/<.*$/s, '')
    .trim()
    .replace(/^(?:functions?|tools?|default_api|default)[.:/]/, '')
    .replace(/:\d+$/, '');
  if (known.includes(plain) || plain.length > LONGEST) return known.find((name) => name === plain);
  const normal = normalize(plain);
  const alike = known.filter((name) => normalize(name) === normal || name.endsWith(`.${plain}`));
  return alike.length === 1 ? alike[0] : undefined;
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
}

function shortened(safe: string, name: string): string {
  if (safe === '') return `tool_${digest(name)}`;
  return safe.length <= 64 ? safe : `${safe.slice(0, 55)}_${digest(name)}`;
}

function digest(name: string): string {
  return hash('sha256', name).slice(0, 8);
}
