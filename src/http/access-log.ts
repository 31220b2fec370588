import type { Request, Response } from 'express';
import type { Logger } from '../base/logger.ts';
import type { RequestContext } from './request-context.ts';

/**
 * One line for an answered request: no query string (secrets stand there), no headers, no bodies. Status 0: the
 * client left before there was one.
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
    // Who stands before the gateway is looked for only where somebody says so.
    ip: req.headers['x-forwarded-for'] === undefined ? req.socket.remoteAddress : req.ip,
    method: req.method,
    path,
    route,
    status: res.headersSent ? res.statusCode : 0,
    ms: Math.round((performance.now() - startedAt) * 10) / 10,
    // What is undefined is left out of the line.
    key: key || undefined,
    model: model || undefined,
    run: run || undefined,
    error: error || undefined,
    left: left || undefined,
  };
}
