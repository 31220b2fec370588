import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Checks the floors of docs/architecture.md against the imports of every file in src/. Type imports count: the question is
 * what a file may know, not what it loads.
 */
const SRC = fileURLToPath(new URL('../../src', import.meta.url));

const FLOORS: Readonly<Record<string, number>> = {
  base: 0,
  protocol: 1,
  config: 1,
  upstream: 2,
  tools: 2,
  store: 2,
  demo: 2,
  client: 2,
  telemetry: 2,
  files: 3,
  research: 3,
  plain: 4,
  'vector-stores': 4,
  gateway: 5,
  runs: 5,
  audit: 6,
  keys: 6,
  usage: 6,
  webhooks: 6,
  http: 7,
  console: 7,
  cli: 7,
};
/** Files above all floors: the entries, the composition root, and the processes that share a port. */
const ABOVE_FLOORS = /^(accounting|foundation|index|main|server)\.ts$|^workers\//;

interface Restriction {
  what: string;
  matches: RegExp;
  /** Folders that may import it. */
  allowed: readonly string[];
}

const RESTRICTIONS: readonly Restriction[] = [
  {
    what: 'Express',
    matches: /^(express|http-proxy-middleware|helmet|pino-http)$/,
    allowed: ['http', 'gateway', 'console'],
  },
  // The local search keeps its full-text index in SQLite; it stores nothing of a run there.
  { what: 'SQLite', matches: /^node:sqlite$/, allowed: ['store', 'tools/web-search'] },
  { what: 'Redis', matches: /^(@redis\/.*|redis|ioredis)$/, allowed: ['store'] },
  // runs/ assigns runs through the queue; store/ opens its connection.
  { what: 'BullMQ', matches: /^bullmq$/, allowed: ['store', 'runs'] },
  { what: 'the OpenAI SDK', matches: /^openai(\/.*)?$/, allowed: ['cli'] },
  // Tools fetch through their own pool, which connects only to checked addresses.
  { what: 'undici', matches: /^undici(\/|$)/, allowed: ['upstream/transport', 'tools/safe-fetch'] },
  { what: 'WebSockets', matches: /^ws$/, allowed: ['http/socket'] },
  // Only spans use the API, which does nothing without an SDK; only telemetry/ starts the SDK.
  { what: 'OpenTelemetry', matches: /^@opentelemetry\//, allowed: ['base/telemetry', 'telemetry'] },
  { what: 'the command line parser', matches: /^commander$/, allowed: ['cli'] },
];

interface SourceFile {
  /** Relative to src/. */
  name: string;
  code: string;
  /** Imported files of src/, relative to it. */
  files: string[];
  /** Imported packages and built-in modules. */
  packages: string[];
}

const FROM = /(?:^|[;}\n])\s*(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"\n]+)['"]/g;
const DYNAMIC = /\bimport\(\s*['"]([^'"\n]+)['"]/g;
/** Child processes and workers are started by the URL of their file. */
const ADDRESS = /new URL\(\s*['"](\.[^'"\n]+\.ts)['"]\s*,\s*import\.meta\.url/g;

function readSource(path: string): SourceFile {
  const text = readFileSync(path, 'utf8');
  const code = withoutComments(text);
  const specifiers = [FROM, DYNAMIC, ADDRESS].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => String(match[1])),
  );
  const local = specifiers.filter((specifier) => specifier.startsWith('.'));
  return {
    name: relative(SRC, path),
    code,
    files: local.map((specifier) => relative(SRC, resolve(dirname(path), specifier))),
    packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
  };
}

/** Removes comments, but not what looks like one in a URL inside a string. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[\s;{}(,])\/\/.*$/gm, '$1');
}

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readSource(join(SRC, name)));

const folderOf = (name: string) => name.split('/')[0] ?? '';

function isAllowed(file: SourceFile, folders: readonly string[]): boolean {
  return ABOVE_FLOORS.test(file.name) || folders.some((folder) => file.name.startsWith(`${folder}/`));
}

describe('the import graph', () => {
  it('is complete: every imported file is among the files read', () => {
    const names = new Set(sources.map((file) => file.name));
    assert.ok(names.size > 30);
    const imported = sources.flatMap((file) => file.files.map((target) => ({ from: file.name, target })));
    const lost = imported.filter(({ target }) => target.endsWith('.ts') && !names.has(target));
    assert.deepEqual(lost, []);
    assert.ok(imported.length > names.size, 'the patterns see the imports');
  });

  it('has a floor for every folder', () => {
    const unknown = sources.filter(
      (file) => !ABOVE_FLOORS.test(file.name) && FLOORS[folderOf(file.name)] === undefined,
    );
    assert.deepEqual(
      unknown.map((file) => file.name),
      [],
    );
  });

  it('only points down, never to another folder of the same floor', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const floor = FLOORS[folderOf(file.name)] ?? Number.POSITIVE_INFINITY;
      for (const target of file.files) {
        if (target.startsWith('..') || folderOf(target) === folderOf(file.name)) continue;
        const below = FLOORS[folderOf(target)] ?? Number.POSITIVE_INFINITY;
        if (below >= floor && floor !== Number.POSITIVE_INFINITY) wrong.push(`${file.name} -> ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it('leaves src/ only to import package.json', () => {
    const out = sources.flatMap((file) => file.files.filter((target) => target.startsWith('..')));
    assert.deepEqual(
      [...new Set(out)].filter((target) => target !== '../package.json'),
      [],
    );
  });

  for (const { what, matches, allowed } of RESTRICTIONS) {
    it(`imports ${what} only in ${allowed.join(', ')}`, () => {
      const wrong = sources.filter(
        (file) => !isAllowed(file, allowed) && file.packages.some((name) => matches.test(name)),
      );
      assert.deepEqual(
        wrong.map((file) => file.name),
        [],
      );
    });
  }

  it('lets gateway/ see three files of upstream/: provider-answer, provider-target, upstream', () => {
    const seen = sources
      .filter((file) => folderOf(file.name) === 'gateway')
      .flatMap((file) => file.files.filter((target) => folderOf(target) === 'upstream'));
    assert.deepEqual(
      [...new Set(seen)].sort(),
      ['provider-answer.ts', 'provider-target.ts', 'upstream.ts'].map((name) => `upstream/${name}`),
    );
  });

  it('has no dummy requests, responses or sockets in upstream, gateway and http', () => {
    const dummy = /new (?:IncomingMessage|ServerResponse|Socket|Response|Request)\(/;
    // The MCP server needs a Fetch `Request`; none of our own code reads it.
    const wrong = sources.filter(({ name, code }) => {
      const looked = ['upstream', 'gateway', 'http'].includes(folderOf(name)) && name !== 'http/mcp/mcp.ts';
      return looked && dummy.test(code);
    });
    assert.deepEqual(wrong, []);
  });

  it('opens outgoing connections only in the listed files', () => {
    const opens =
      /(?<![.\w#]|async )fetch\(|globalThis\.fetch\b(?!;)|import \{[^}]*\b(?:request|get|connect|createConnection|lookup|resolve\w*|Resolver|(?:Https?)?Agent|Socket)\b[^}]*\} from 'node:(?:https?|http2|net|tls|dgram|dns(?:\/promises)?)'|import\('node:(?:https?|http2|net|tls|dgram)'\)/;
    const seen = sources.filter(({ code }) => opens.test(code.replace(/import type \{[^}]*\}/g, '')));
    assert.deepEqual(seen.map(({ name }) => name).sort(), [
      // Addresses given on the command line.
      'cli/doctor/system.ts',
      // What the operator configured.
      'files/s3/s3-connection.ts',
      'gateway/passthrough/passthrough.ts',
      'store/shared/store-client.ts',
      'store/shared/store-server.ts',
      // The checked fetch, and the modules that are given it.
      'tools/mcp/server-fetch.ts',
      'tools/safe-fetch/guarded-agent.ts',
      'tools/safe-fetch/safe-fetch.ts',
      'webhooks/send.ts',
    ]);
  });

  it('keeps zod out of the process that parses pages (it would need a sixth more memory)', () => {
    const files = new Map(sources.map((file) => [file.name, file]));
    const met = new Set(['tools/fetch-url-content/parsing/parse-child.ts']);
    for (const name of met) for (const file of files.get(name)?.files ?? []) met.add(file);
    const packages = new Set([...met].flatMap((name) => files.get(name)?.packages ?? []));
    assert.ok(packages.has('htmlparser2'));
    assert.deepEqual(
      [...packages].filter((name) => name.startsWith('zod')),
      [],
    );
  });

  it('reads process.env only in config/', () => {
    const wrong = sources.filter(
      (file) => folderOf(file.name) !== 'config' && /\bprocess\s*\.\s*env\b/.test(file.code),
    );
    assert.deepEqual(
      wrong.map((file) => file.name),
      [],
    );
  });

  it('has no cycles', () => {
    assert.deepEqual(findCycle(new Map(sources.map((file) => [file.name, file.files]))), []);
  });

  it('reports a cycle if there is one', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['b']],
    ]);
    assert.deepEqual(findCycle(graph), ['b', 'c', 'b']);
  });

  it('recognises every form of import', () => {
    const code = "const a = 1;\nimport type {\n  b,\n} from './b.ts';\nexport * from './c.ts';\nimport './d.ts';";
    assert.deepEqual(
      [...code.matchAll(FROM)].map((match) => match[1]),
      ['./b.ts', './c.ts', './d.ts'],
    );
  });
});

/** The names along a cycle, or none. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (name: string): string[] => {
    const start = trail.indexOf(name);
    if (start >= 0) return [...trail.slice(start), name];
    if (done.has(name)) return [];
    trail.push(name);
    for (const next of graph.get(name) ?? []) {
      const cycle = visit(next);
      if (cycle.length > 0) return cycle;
    }
    trail.pop();
    done.add(name);
    return [];
  };
  for (const name of graph.keys()) {
    const cycle = visit(name);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
