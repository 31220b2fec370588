import { z } from 'zod';

/** The error object of docs/api.md, "Errors". */
export const errorObject = z.object({
  message: z.string(),
  type: z.enum(['invalid_request_error', 'authentication_error', 'permission_error', 'rate_limit_error', 'api_error']),
  param: z.string().nullable(),
  code: z.string(),
});

/** The error of a run. */
export const storedError = errorObject.extend({
  /** Seconds after which a retry may succeed, if the provider named them; absent in older logs. */
  retry_after: z.number().optional(),
});

/** The body of every HTTP error. */
export const errorBody = z.object({ error: errorObject });

export type ApiError = z.output<typeof storedError>;
