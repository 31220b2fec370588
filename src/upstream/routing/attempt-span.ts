import { type OpenSpan, startSpan } from '../../base/telemetry/spans.ts';
import { AttemptFailure } from './attempt-failure.ts';
import type { Route } from './routes.ts';

/** Names the provider as the operator does, and the model as the provider does. */
export function attemptSpan({ provider, model }: Route): OpenSpan {
  const attributes = { 'gen_ai.provider.name': provider.name, 'gen_ai.request.model': model };
  const span = startSpan({ name: `attempt ${provider.name}`, kind: 'client', attributes });
  if (span.isRecorded) span.set({ 'server.address': new URL(provider.config.base_url).hostname });
  return span;
}

/** `outcome`: absent where the client disconnected first. */
export function endSpan(span: OpenSpan, outcome: 'ok' | AttemptFailure | undefined): void {
  if (outcome instanceof AttemptFailure) {
    if (outcome.status !== undefined) span.set({ 'http.response.status_code': outcome.status });
    span.fail(outcome.kind);
  }
  span.set({ 'research_gateway.outcome': outcome === undefined ? 'left' : outcome === 'ok' ? 'ok' : 'failed' });
  span.end();
}
