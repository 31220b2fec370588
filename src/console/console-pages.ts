import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type RequestHandler, Router } from 'express';
import helmet from 'helmet';

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
};

const PAGE = fileURLToPath(new URL('./page', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface ConsoleOptions {
  /** The key that is no secret (contract section 10), while it is accepted: the page fills it in. */
  wellKnownKey(): string | undefined;
}

interface PageFile {
  type: string;
  etag: string;
  body: Buffer;
  zipped: Buffer;
}

/**
 * `GET /console` (contract section 8): static files, read and compressed once, when they are first asked for. The page
 * is a client of the public API like any other; keys reach it only through its user.
 */
export function consolePages({ wellKnownKey }: ConsoleOptions): RequestHandler {
  let loading: Promise<ReadonlyMap<string, PageFile>> | undefined;
  const load = () => {
    loading ??= loadFiles().catch((thrown: unknown) => {
      loading = undefined;
      throw thrown;
    });
    return loading;
  };
  const router = Router({ strict: true });
  router.use(consoleHeaders());
  router.get('/start.json', (_req, res) => {
    res.set('cache-control', 'no-store').json({ api_key: wellKnownKey() ?? null });
  });
  router.use(async (req, res, next) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return next();
    const name = req.path.slice(1);
    // The page's own links are relative to its address without a slash at the end, so that it works under any prefix.
    if (name === '' && req.originalUrl.split('?', 1)[0]?.endsWith('/')) return res.redirect(308, '../console');
    const file = (await load()).get(name);
    if (!file) return next();
    const zipped = req.acceptsEncodings('gzip') !== false;
    res.set({ 'cache-control': 'no-cache', etag: file.etag, vary: 'accept-encoding' });
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
 * Nothing but what comes from here runs, is shown or is reached; text becomes markup nowhere (trusted types),
 * because the page builds its elements one by one. No HSTS and no upgrade to https: the gateway speaks plain http.
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
        // The address of the one worker.
        trustedTypes: ['console-worker'],
      },
    },
  });
}

async function loadFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const names = await readdir(PAGE, { recursive: true, withFileTypes: true });
  const files = new Map<string, PageFile>();
  for (const entry of names) {
    if (!entry.isFile()) continue;
    const path = `${entry.parentPath}/${entry.name}`;
    const name = path.slice(PAGE.length + 1);
    files.set(name, await pageFile(name, await readFile(path)));
  }
  for (const [name, { file, notice }] of Object.entries(LIBRARIES)) {
    const code = await readFile(fileURLToPath(import.meta.resolve(file)), 'utf8');
    // Its source map is not served: without the line, developer tools do not ask for it.
    const bare = code.replace(/^\/\/# sourceMappingURL=.*$/m, '');
    files.set(name, await pageFile(name, Buffer.from(`/* ${notice} */\n${bare}`)));
  }
  files.set('', await indexOf(files));
  files.delete('index.html');
  return files;
}

async function pageFile(name: string, body: Buffer): Promise<PageFile> {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 20)}"`;
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  return { type, etag, body, zipped: await promisify(gzip)(body) };
}

/** The page with its modules named in advance: a browser loads them at once instead of one after the other. */
async function indexOf(files: ReadonlyMap<string, PageFile>): Promise<PageFile> {
  // The Markdown reader and its library are the worker's, which loads them itself.
  const own = (name: string) => name.endsWith('.js') && !name.endsWith('-worker.js') && name !== 'lib/marked.js';
  const modules = [...files.keys()].filter(own);
  const links = modules.map((name) => `  <link rel="modulepreload" href="console/${name}">\n`);
  const page = files.get('index.html')?.body.toString('utf8') ?? '';
  return await pageFile('index.html', Buffer.from(page.replace('</head>', `${links.join('')}</head>`)));
}
