import type { Request, Response } from 'express';
import type { Logger } from '../base/logger.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Logs one line for each answered request, without query string (it may contain secrets), headers and bodies. Status 0:
 * the client disconnected before there was a status.
 */
export function accessLog(log: Logger): (context: RequestContext, req: Request, res: Response) => void {
  return (context, req, res) => {
    if (log.isLevelEnabled('info')) log.info(lineOf(context, req, res), 'request');
  };
}

function lineOf(context: RequestContext, req: Request, res: Response): object {
  const { id, path, route, startedAt, key, model, run, error, disconnected: left } = context;
  return {
    req: id,
    // Express has to parse addresses for `req.ip`, which is only needed behind a proxy.
    ip: req.headers['x-forwarded-for'] === undefined ? req.socket.remoteAddress : req.ip,
    method: req.method,
    path,
    route,
    status: res.headersSent ? res.statusCode : 0,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    // Undefined fields are left out of the line.
    key: key || undefined,
    model: model || undefined,
    run: run || undefined,
    error: error || undefined,
    left: left || undefined,
  };
}
