import type { ErrorRequestHandler } from 'express';
import { toGatewayError } from '../../base/errors.ts';
import { errorAnswer, fromHttpFailure } from '../errors.ts';
import type { Floor } from '../parts.ts';
import { sendJson } from '../send-json.ts';
import type { Visits } from '../visit.ts';

/** Answers every failure as JSON (contract section 2). The last handler of the app. */
export function failure({ log }: Floor, visits: Visits): ErrorRequestHandler {
  return (thrown, _req, res, _next) => {
    const visit = visits.of(res);
    // A client that left is no failure, and nobody is there to hear of one.
    if (visit.signal.aborted) return;
    const error = fromHttpFailure(thrown) ?? toGatewayError(thrown);
    visit.error = error.code;
    if (error.code === 'internal_error') log.error({ req: visit.id, err: thrown }, 'a request failed');
    // A cut answer must not look like a whole one.
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const allow = res.getHeader('allow');
    sendJson(res, errorAnswer(error, { allow: typeof allow === 'string' ? allow : undefined }));
  };
}
