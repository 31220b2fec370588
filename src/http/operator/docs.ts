import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RequestHandler, Router, static as serveStatic } from 'express';
import helmet from 'helmet';
import { once } from '../../base/once.ts';
import { sendJson } from '../answers/json.ts';

/** Addresses are relative, because a proxy may serve the gateway below a path. `folder`: that of the files, seen from the page. */
const page = (folder: string) => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>research-gateway API</title>
  <link rel="stylesheet" href="${folder}swagger-ui.css">
  <link rel="icon" href="${folder}favicon-32x32.png">
</head>
<body>
  <div id="swagger-ui"></div>
  <script src="${folder}swagger-ui-bundle.js"></script>
  <script src="${folder}start.js"></script>
</body>
</html>
`;

const START = `const url = new URL('../openapi.json', document.currentScript.src).href;
SwaggerUIBundle({ url, dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });
`;

const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/** `GET /docs`: Swagger UI for the API description. It loads nothing from other hosts. */
export function docsPages(): Router {
  const folder = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
  const files = serveStatic(folder, { index: false, fallthrough: false, maxAge: '1h', redirect: false });
  const router = Router();
  router.use(pageHeaders());
  router.get('/', ({ originalUrl }, res) => {
    res.type('html').send(page(/^[^?]*\/(?:\?|$)/.test(originalUrl) ? '' : 'docs/'));
  });
  router.get('/start.js', (_req, res) => {
    res.type('js').send(START);
  });
  for (const file of FILES) router.get(join('/', file), files);
  return router;
}

/**
 * Security headers of pages. No HSTS and no upgrade to https: the gateway speaks plain http, and such a browser could not
 * open it any more. Inline styles are allowed because Swagger UI sets them from its script.
 */
export function pageHeaders() {
  return helmet({
    strictTransportSecurity: false,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
  });
}

/** `GET /openapi.json`, generated from the schemas on the first request. */
export function openapi(): RequestHandler {
  // The generator is loaded only when it is needed, because most processes never need it.
  const document = once(async () => {
    const { openApiDocument } = await import('../../protocol/openapi/openapi.ts');
    return JSON.stringify(openApiDocument());
  });
  return async (_req, res) => sendJson(res, { status: 200, headers: {}, body: await document() });
}
