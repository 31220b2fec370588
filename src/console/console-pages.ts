import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type RequestHandler, Router } from 'express';
import helmet from 'helmet';
import { once } from '../base/once.ts';

/** Libraries of the page, served from their packages: nothing is loaded from elsewhere, nothing is built. */
const LIBRARIES: Readonly<Record<string, { file: string; notice: string }>> = {
  'lib/preact.js': {
    file: 'htm/preact/standalone',
    notice: 'htm and preact, (c) Jason Miller and contributors; htm: Apache-2.0, preact: MIT. See the npm package htm.',
  },
  'lib/marked.js': {
    file: 'marked',
    notice: 'marked, (c) MarkedJS and Christopher Jeffrey; MIT. See the npm package marked.',
  },
  'lib/temml.js': {
    file: 'temml',
    notice: 'temml, (c) Ron Kok, and KaTeX, (c) Khan Academy and contributors; MIT. See the npm package temml.',
  },
  'lib/temml.css': {
    file: 'temml/dist/Temml-Local.css',
    notice: 'temml, (c) Ron Kok; MIT. See the npm package temml.',
  },
};

/** The page's own files, and the modules for charts and formulas in documents, which it shares. */
const FOLDERS: Readonly<Record<string, string>> = {
  '': './page',
  'chart/': '../protocol/chart/draw',
  'formula/': '../protocol/formula',
};
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface ConsoleOptions {
  /** The key that is no secret (docs/operating.md, "Starting"), while it is accepted: the page fills it in. */
  wellKnownKey(): string | undefined;
}

/** For files whose address contains their version. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

interface PageFile {
  type: string;
  etag: string;
  body: Buffer;
  zipped: Buffer;
}

interface Page {
  /** Names this state of the files: below `console/<version>/` they never change. */
  version: string;
  files: ReadonlyMap<string, PageFile>;
  /** The page itself for addresses of each depth below `/console`. */
  views: readonly PageFile[];
}

/** Paths of views, as `page/address.js` writes them. Each serves the page itself. */
const VIEW_PATH =
  /^(?:(?:runs|tasks)(?:\/[\w-]{1,200})?|compare\/[\w-]{1,200}\/[\w-]{1,200}|documents(?:\/[\w-]{1,200})?|operate(?:\/(?:keys|usage|config|audit))?)$/;

/**
 * `GET /console` (docs/console.md): static files, read and compressed on the first request. The page is a client of the
 * public API like any other; only its user gives it a key. The addresses of its files contain their version, so a browser
 * loads each once; the page itself is revalidated each time.
 */
export function consolePages({ wellKnownKey }: ConsoleOptions): RequestHandler {
  const load = once(loadPage);
  const router = Router({ strict: true });
  router.use(consoleHeaders());
  router.get('/start.json', (_req, res) => {
    res.set('cache-control', 'no-store').json({ api_key: wellKnownKey() ?? null });
  });
  router.use(async (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return next();
    const [, version, name = ''] = /^\/(?:(v-[\w-]+)\/)?(.*)$/.exec(req.path) ?? [];
    // The page's links are relative to its address without a final slash, so that it works under any prefix.
    if (req.path === '/' && req.originalUrl.split('?', 1)[0]?.endsWith('/')) return res.redirect(308, '../console');
    const page = await load();
    const file = version === undefined ? (viewOf(page, name) ?? page.files.get(name)) : page.files.get(name);
    if (!file) return next();
    const zipped = req.acceptsEncodings('gzip') !== false;
    // A page of another version still gets the current files.
    const cacheControl = version === page.version ? IMMUTABLE : 'no-cache';
    res.set({ 'cache-control': cacheControl, etag: file.etag, vary: 'accept-encoding' });
    if (req.headers['if-none-match'] === file.etag) return res.status(304).end();
    const body = zipped ? file.zipped : file.body;
    res.set({
      'content-type': file.type,
      'content-length': String(body.length),
      ...(zipped && { 'content-encoding': 'gzip' }),
    });
    return res.end(req.method === 'HEAD' ? undefined : body);
  });
  return router;
}

/**
 * The page may run, show and reach only what this gateway serves, and text never becomes markup (trusted types): the page
 * builds its elements one by one. No HSTS and no upgrade to https, because the gateway speaks plain http.
 */
function consoleHeaders(): RequestHandler {
  return helmet({
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        requireTrustedTypesFor: ["'script'"],
        // Creates the address of the only worker.
        trustedTypes: ['console-worker'],
      },
    },
  });
}

async function loadPage(): Promise<Page> {
  const files = new Map<string, PageFile>();
  for (const [prefix, folder] of Object.entries(FOLDERS)) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    for (const name of await readdir(path, { recursive: true })) {
      if (extname(name) in TYPES) files.set(prefix + name, await pageFile(name, await readFile(`${path}/${name}`)));
    }
  }
  for (const [name, { file, notice }] of Object.entries(LIBRARIES)) {
    const code = await readFile(fileURLToPath(import.meta.resolve(file)), 'utf8');
    // Source maps and fonts are not served; without these lines browsers would request them.
    const bare = code.replace(/^\/\/# sourceMappingURL=.*$|^@font-face \{[^{}]*\}$/m, '');
    files.set(name, await pageFile(name, Buffer.from(`/* ${notice} */\n${bare}`)));
  }
  const index = files.get('index.html')?.body.toString('utf8') ?? '';
  files.delete('index.html');
  const styles = styleLinks(index);
  const style = styles.map((name) => files.get(name)?.body.toString('utf8') ?? '').join('\n');
  files.set('style.css', await pageFile('style.css', Buffer.from(style)));
  const etags = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { etag }]) => `${name} ${etag}`);
  const version = `v-${digest(etags.join('\n'))}`;
  const complete = assembleIndex(index, { version, files });
  const views = ['', '../', '../../', '../../../'].map((up) => complete.replaceAll('"console/', `"${up}console/`));
  return { version, files, views: await Promise.all(views.map((view) => pageFile('index.html', Buffer.from(view)))) };
}

/** The page for a path. Its links are relative so that it works under any prefix, so each depth has its own. */
function viewOf({ views }: Page, name: string): PageFile | undefined {
  if (name === '') return views[0];
  return VIEW_PATH.test(name) ? views[name.split('/').length] : undefined;
}

async function pageFile(name: string, body: Buffer): Promise<PageFile> {
  const type = TYPES[extname(name)] ?? '';
  return { type, etag: `"${digest(body)}"`, body, zipped: await promisify(gzip)(body) };
}

function digest(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 20);
}

/** Modules that are not preloaded: those of the worker, of formulas, of the operator's pages and of documents. */
const LAZY_MODULES = /^(?:report\/worker|formula|operate|documents)\/|^lib\/(?:marked|temml)\.js$/;

const STYLE_LINK = /^ *<link rel="stylesheet" href="console\/([^"]+)">\n/gm;

function styleLinks(index: string): string[] {
  return [...index.matchAll(STYLE_LINK)].map(([, name = '']) => name);
}

/**
 * The page as browsers get it: with one style sheet, because they block drawing, and with its modules preloaded, so that they
 * load in parallel instead of one after the other.
 */
function assembleIndex(index: string, { version, files }: Omit<Page, 'views'>): string {
  const eager = (name: string) => name.endsWith('.js') && !LAZY_MODULES.test(name);
  const links = [...files.keys()].filter(eager).map((name) => `  <link rel="modulepreload" href="console/${name}">\n`);
  const style = '  <link rel="stylesheet" href="console/style.css">\n';
  return index
    .replace(STYLE_LINK, '')
    .replace('</head>', `${style}${links.join('')}</head>`)
    .replaceAll('"console/', `"console/${version}/`);
}
