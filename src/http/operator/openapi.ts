import type { RequestHandler } from 'express';
import { sendJson } from '../answers/json.ts';

/** `GET /openapi.json`, made from the schemas when it is first asked for. */
export function openapi(): RequestHandler {
  let document: Promise<string> | undefined;
  return async (_req, res) => {
    // The generator is loaded when it is needed: hardly any start needs it.
    document ??= import('../../protocol/openapi/openapi.ts').then(({ openApiDocument }) =>
      JSON.stringify(openApiDocument()),
    );
    sendJson(res, { status: 200, headers: {}, body: await document });
  };
}
