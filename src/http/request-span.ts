import type { IncomingMessage, ServerResponse } from 'node:http';
import { enclosingTrace, type OpenSpan, startSpan } from '../base/telemetry/spans.ts';
import { traceOf } from '../base/telemetry/trace-context.ts';
import { requestContextOf } from './request-context.ts';

/** From this status on the gateway has failed, and not the client. */
const SERVER_ERROR = 500;

/**
 * Runs `work` in the span of a request, within the client's trace. The span ends when the answer is complete or the client
 * disconnects. `contents`: spans below it may contain prompts and answers.
 */
export function inRequestSpan<T>(
  { req, res, route, contents }: { req: IncomingMessage; res: ServerResponse; route: string; contents: boolean },
  work: () => T,
): T {
  const { method = '' } = req;
  const span = startSpan({
    name: `${method} ${route}`,
    kind: 'server',
    attributes: { 'http.request.method': method, 'http.route': route },
    root: { trace: enclosingTrace() ?? traceOf(req.headers), contents },
  });
  if (span.isRecorded) {
    if (res.closed) end(span, res);
    else res.once('close', () => end(span, res));
  }
  return span.in(work);
}

function end(span: OpenSpan, res: ServerResponse): void {
  const { id, path, key, model, run, error, disconnected: left } = requestContextOf(res);
  const ids = { 'research_gateway.key.id': key, 'gen_ai.request.model': model, 'research_gateway.run.id': run };
  span.set({
    'url.path': path,
    'research_gateway.request.id': id,
    ...Object.fromEntries(Object.entries(ids).filter(([, value]) => value !== '')),
    ...(res.headersSent && { 'http.response.status_code': res.statusCode }),
  });
  if (left) span.set({ 'error.type': 'client_left' });
  else if (error !== '' && res.statusCode < SERVER_ERROR) span.set({ 'error.type': error });
  else if (error !== '' || res.statusCode >= SERVER_ERROR) span.fail(error === '' ? String(res.statusCode) : error);
  span.end();
}
