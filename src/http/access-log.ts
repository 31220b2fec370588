import type { Request, Response } from 'express';
import type { Logger } from '../base/logger.ts';
import type { Visit } from './visit.ts';

/**
 * One line for an answered request: no query string (secrets stand there), no headers, no bodies. Status 0: the
 * client left before there was one.
 */
export function logVisit(log: Logger, visit: Visit, req: Request, res: Response): void {
  if (!log.isLevelEnabled('info')) return;
  log.info(
    {
      req: visit.id,
      ip: req.ip,
      method: req.method,
      path: visit.path,
      route: visit.route,
      status: res.headersSent ? res.statusCode : 0,
      ms: Math.round((performance.now() - visit.startedAt) * 10) / 10,
      ...(visit.key !== '' && { key: visit.key }),
      ...(visit.model !== '' && { model: visit.model }),
      ...(visit.run !== '' && { run: visit.run }),
      ...(visit.error !== '' && { error: visit.error }),
      ...(visit.left && { left: true }),
    },
    'request',
  );
}
