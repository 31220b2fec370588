import type { RequestHandler } from 'express';
import { openApiDocument } from '../../protocol/openapi.ts';
import { sendJson } from '../send-json.ts';

/** `GET /openapi.json`, made from the schemas when it is first asked for. */
export function openapi(): RequestHandler {
  let body: string | undefined;
  return (_req, res) => {
    body ??= JSON.stringify(openApiDocument());
    sendJson(res, { status: 200, headers: {}, body });
  };
}
