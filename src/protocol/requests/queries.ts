import { z } from 'zod';
import { filePurpose } from '../files.ts';
import { reportFormat } from '../report.ts';
import { responseStatus } from '../response.ts';
import { taskStatus } from '../tasks.ts';

/** Query parameters (docs/api.md, "The other Responses endpoints" and "Async"), for parsing and the API description. */

const cursor = z.string().optional();
const page = { after: cursor, before: cursor, order: z.enum(['asc', 'desc']).optional() };

export const listResponsesQuery = z.object({
  limit: z.int().min(1).max(100).default(20),
  ...page,
  status: responseStatus.optional(),
  model: z.string().optional(),
});

export const listInputItemsQuery = z.object({ limit: z.int().min(1).max(100).default(20), ...page });

export const listConversationItemsQuery = z.object({
  limit: z.int().min(1).max(100).default(20),
  after: cursor,
  order: z.enum(['asc', 'desc']).default('desc'),
});

export const listTasksQuery = z.object({
  limit: z.int().min(1).max(1000).default(100),
  ...page,
  status: taskStatus.optional(),
});

export const getResponseQuery = z.object({
  // `requests` and other clients of Python write booleans as Python does.
  stream: z.enum(['true', 'false', 'True', 'False'], 'expected true or false').default('false'),
  after: z.int().min(0).optional(),
  starting_after: z.int().min(0).optional(),
});

export const listFilesQuery = z.object({
  limit: z.int().min(1).max(10_000).default(10_000),
  after: cursor,
  order: z.enum(['asc', 'desc']).default('desc'),
  purpose: filePurpose.optional(),
});

export const listDeliveriesQuery = z.object({ run: z.string() });

export const getReportQuery = z.object({ format: reportFormat.default('md') });
