import type { Request, Response } from 'express';
import { infoLines, type Logger } from '../base/logger.ts';
import type { RequestContext } from './request-context.ts';

interface RequestLine {
  req: string;
  ip: string | undefined;
  method: string;
  path: string;
  route: string;
  status: number;
  ms: number;
  key?: string;
  model?: string;
  run?: string;
  error?: string;
  left?: true;
}

/**
 * One line for an answered request: no query string (secrets stand there), no headers, no bodies. Status 0: the
 * client left before there was one.
 */
export function accessLog(log: Logger): (context: RequestContext, req: Request, res: Response) => void {
  const write = infoLines(log, 'request');
  return (context, req, res) => {
    if (log.isLevelEnabled('info')) write(lineOf(context, req, res));
  };
}

function lineOf(context: RequestContext, req: Request, res: Response): RequestLine {
  const line: RequestLine = {
    req: context.id,
    // Who stands before the gateway is looked for only where somebody says so.
    ip: req.headers['x-forwarded-for'] === undefined ? req.socket.remoteAddress : req.ip,
    method: req.method,
    path: context.path,
    route: context.route,
    status: res.headersSent ? res.statusCode : 0,
    ms: Math.round((performance.now() - context.startedAt) * 10) / 10,
  };
  if (context.key !== '') line.key = context.key;
  if (context.model !== '') line.model = context.model;
  if (context.run !== '') line.run = context.run;
  if (context.error !== '') line.error = context.error;
  if (context.left) line.left = true;
  return line;
}
