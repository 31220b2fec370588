import type { ErrorRequestHandler } from 'express';
import { toGatewayError } from '../../base/errors.ts';
import { sendJson } from '../answers/json.ts';
import { closeAfter } from '../answers/last-answer.ts';
import type { AppDeps } from '../app-deps.ts';
import { errorAnswer, fromHttpFailure } from '../errors.ts';
import { contextOf } from '../request-context.ts';

/** Answers every failure as JSON (contract section 2). The last handler of the app. */
export function failure({ log }: AppDeps): ErrorRequestHandler {
  return (thrown, req, res, _next) => {
    const context = contextOf(res);
    // A client that left is no failure, and nobody is there to hear of one.
    if (context.left) return;
    const error = fromHttpFailure(thrown) ?? toGatewayError(thrown);
    context.error = error.code;
    if (error.code === 'internal_error') log.error({ req: context.id, err: thrown }, 'a request failed');
    // A cut answer must not look like a whole one.
    if (res.headersSent) {
      res.destroy();
      return;
    }
    // Who has no key is not given a connection to try more on.
    if (error.type === 'authentication_error') closeAfter(req, res);
    const allow = res.getHeader('allow');
    sendJson(res, errorAnswer(error, { allow: typeof allow === 'string' ? allow : undefined }));
  };
}
