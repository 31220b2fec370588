import type { RequestHandler } from 'express';
import { normaliseTarget } from '../../protocol/requests/request-target.ts';
import { accessLog } from '../access-log.ts';
import type { AppDeps } from '../app-deps.ts';
import { OVERVIEW } from '../operator/get-overview.ts';
import { openContext, type RequestContext } from '../request-context.ts';
import { allowOrigin } from './cors.ts';
import { refuseAmbiguity } from './framing.ts';
import { checkOrigin } from './origin.ts';

/**
 * Opens the context of every request: it sets the headers that every answer has, watches the connection, and writes the
 * access log and the metrics at the end. One handler, because each call by Express costs more than the work it does.
 */
export function entry(deps: AppDeps): RequestHandler {
  const { config, log, metrics, stopping } = deps;
  const logRequest = accessLog(log);
  return (req, res, next) => {
    const context = openContext(req, res, (ended) => {
      metrics.count(ended, { method: req.method, status: res.headersSent ? res.statusCode : 0 });
      logRequest(ended, req, res);
      if (ended.error !== '') noteFailure(deps, ended);
      // An idle keep-alive connection would delay the shutdown until it times out.
      if (stopping.aborted) req.socket.destroySoon();
    });
    res.setHeader('x-request-id', context.id);
    res.setHeader('x-content-type-options', 'nosniff');
    refuseAmbiguity(req);
    req.url = normaliseTarget(req.url);
    checkOrigin(req.headers, config.current());
    if (allowOrigin(req, res, config.current().server.cors_origins)) context.route = 'preflight';
    else next();
  };
}

/**
 * Records a failure for operators. Requests without a valid key are left out, so that strangers cannot push real failures
 * out of the list, and so is the console's check whether a key is an operator's.
 */
function noteFailure({ operator, clock }: AppDeps, { error, model, key, route }: RequestContext): void {
  if (key === '' || route === OVERVIEW) return;
  operator?.activity.recordFailure({ at: clock.now(), where: 'request', code: error, model, key });
}
