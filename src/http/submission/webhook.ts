import { z } from 'zod';
import { fieldError } from '../../base/errors.ts';
import { withoutField } from '../../protocol/requests/json-spans.ts';
import { parseValue } from '../../protocol/requests/parse.ts';
import { type RequestedWebhook, requestedWebhook } from '../../protocol/requests/requested-webhook.ts';
import type { JsonBody } from '../middleware/body.ts';

/** The webhook of a response. @throws GatewayError `conflicting_parameters` if the response does not run in the background. */
export function responseWebhook(value: {
  webhook?: RequestedWebhook | undefined;
  background?: boolean | undefined;
}): RequestedWebhook | undefined {
  if (value.webhook === undefined || value.background === true) return value.webhook;
  const what = 'only work in the background tells of its end: send "background": true.';
  throw fieldError('conflicting_parameters', 'webhook', what);
}

/** The webhook of a task on a proxy model, and the body without it, because its provider does not know the field. */
export function taskWebhook({ raw, json }: JsonBody): { webhook?: RequestedWebhook; body: string } {
  if (json.webhook === undefined) return { body: raw.toString('utf8') };
  const { webhook } = parseValue(webhookField, { webhook: json.webhook ?? undefined });
  return { ...(webhook && { webhook }), body: withoutField(raw, 'webhook').toString('utf8') };
}

const webhookField = z.object({ webhook: requestedWebhook.optional() });
