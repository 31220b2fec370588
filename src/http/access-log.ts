import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../base/logger.ts';
import type { Visit } from './visit.ts';

/**
 * One line for an answered request. No query string (secrets stand there), no headers, no bodies; of the path only
 * its start, because it is the client's.
 */
export function logVisit(log: Logger, visit: Visit, req: IncomingMessage, res: ServerResponse): void {
  if (!log.isLevelEnabled('info')) return;
  const url = req.url ?? '';
  const query = url.indexOf('?');
  const path = (query === -1 ? url : url.slice(0, query)).slice(0, 200);
  const status = res.headersSent ? res.statusCode : 0;
  log.info(
    {
      req: visit.id,
      method: req.method,
      path,
      route: visit.route,
      status,
      ms: Math.round((performance.now() - visit.startedAt) * 10) / 10,
      ...(visit.key !== '' && { key: visit.key }),
      ...(visit.model !== '' && { model: visit.model }),
      ...(visit.error !== '' && { error: visit.error }),
      ...(visit.left && { left: true }),
    },
    'request',
  );
}
