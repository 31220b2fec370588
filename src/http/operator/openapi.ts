import type { RequestHandler } from 'express';
import { sendJson } from '../answers/json.ts';

/** `GET /openapi.json`, made from the schemas when it is first asked for. */
export function openapi(): RequestHandler {
  let document: Promise<string> | undefined;
  return async (_req, res) => {
    document ??= makeDocument();
    sendJson(res, { status: 200, headers: {}, body: await document });
  };
}

/** The generator is loaded when it is needed: hardly any start needs it. */
async function makeDocument(): Promise<string> {
  const { openApiDocument } = await import('../../protocol/openapi/openapi.ts');
  return JSON.stringify(openApiDocument());
}
