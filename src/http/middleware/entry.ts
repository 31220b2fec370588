import type { RequestHandler } from 'express';
import { checkedTarget } from '../../protocol/requests/request-target.ts';
import { accessLog } from '../access-log.ts';
import type { AppDeps } from '../app-deps.ts';
import { OVERVIEW } from '../operator/get-overview.ts';
import { openContext, type RequestContext } from '../request-context.ts';
import { allowOrigin } from './cors.ts';
import { requireOneReading } from './framing.ts';
import { checkOrigin } from './origin.ts';

/**
 * Opens the context of every request: its id, the headers of every answer, the watch over its connection, and the line
 * of log and the metrics at its end. One handler, because each one that Express calls costs more than its work.
 */
export function entry(deps: AppDeps): RequestHandler {
  const { config, log, metrics, stopping } = deps;
  const logRequest = accessLog(log);
  return (req, res, next) => {
    const context = openContext(req, res, (ended) => {
      metrics.count(ended, { method: req.method, status: res.headersSent ? res.statusCode : 0 });
      logRequest(ended, req, res);
      if (ended.error !== '') noteFailure(deps, ended);
      // A connection kept for the next request would hold up the stop until its time is over.
      if (stopping.aborted) req.socket.destroySoon();
    });
    res.setHeader('x-request-id', context.id);
    res.setHeader('x-content-type-options', 'nosniff');
    requireOneReading(req);
    req.url = checkedTarget(req.url);
    checkOrigin(req.headers, config.current());
    if (allowOrigin(req, res, config.current().server.cors_origins)) context.route = 'preflight';
    else next();
  };
}

/**
 * What is refused for want of a key is the clients' matter: strangers must not push an operator's failures out. So is
 * the console's question whether a key is an operator's.
 */
function noteFailure({ operator, clock }: AppDeps, { error, model, key, route }: RequestContext): void {
  if (key === '' || route === OVERVIEW) return;
  operator?.activity.failed({ at: clock.now(), where: 'request', code: error, model, key });
}
