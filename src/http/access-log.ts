import type { Request, Response } from 'express';
import type { Logger } from '../base/logger.ts';
import type { RequestContext } from './request-context.ts';

/**
 * One line for an answered request: no query string (secrets stand there), no headers, no bodies. Status 0: the
 * client left before there was one.
 */
export function logRequest(log: Logger, context: RequestContext, req: Request, res: Response): void {
  if (!log.isLevelEnabled('info')) return;
  log.info(
    {
      req: context.id,
      ip: req.ip,
      method: req.method,
      path: context.path,
      route: context.route,
      status: res.headersSent ? res.statusCode : 0,
      ms: Math.round((performance.now() - context.startedAt) * 10) / 10,
      ...(context.key !== '' && { key: context.key }),
      ...(context.model !== '' && { model: context.model }),
      ...(context.run !== '' && { run: context.run }),
      ...(context.error !== '' && { error: context.error }),
      ...(context.left && { left: true }),
    },
    'request',
  );
}
