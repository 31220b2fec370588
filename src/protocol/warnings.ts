import { z } from 'zod';

/** Warnings: problems that are not errors (docs/api.md, "The response object", `warnings`). */

export const warningCode = z.enum([
  'citation_without_source',
  'no_sources',
  'mcp_server_unavailable',
  'tool_unavailable',
  'parameter_adapted',
  'output_left_out',
  'route_failed_over',
  'source_unreadable',
  'unsupported_claims',
]);

export const warning = z.object({
  code: warningCode,
  message: z.string(),
  /** The field of the request that the warning is about. */
  param: z.string().optional(),
});

export type Warning = z.output<typeof warning>;
