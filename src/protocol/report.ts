import { z } from 'zod';
import { claims, usage } from './response.ts';

/** The formats of `GET /v1/responses/:id/report` (docs/api.md, "The report as a document"). */
export const reportFormat = z.enum(['md', 'html', 'docx', 'json']);
export type ReportFormat = z.output<typeof reportFormat>;

/** The media type of `docx`. */
export const DOCX_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

/** A report with `format=json`. */
export const reportObject = z.object({
  title: z.string(),
  question: z.string(),
  /** The day of its end. */
  date: z.string(),
  model: z.string(),
  /** `heading` is plain text, null for what stands before the first one; `text` is Markdown with its markers. */
  sections: z.array(z.object({ heading: z.string().nullable(), text: z.string() })),
  sources: z.array(
    z.object({
      /** Its number in the text; null for an address that stands in the text itself. */
      index: z.int().positive().nullable(),
      url: z.string(),
      title: z.string(),
      /** When it was published, ISO 8601, to the day or the month; absent where nothing tells. */
      date: z.string().optional(),
      verified: z.boolean(),
      /** The words of the source that sentences rest on, each once. */
      quotes: z.array(z.string()),
    }),
  ),
  /** What a reader should know: that it was cut, failed, or rests on no source. */
  notes: z.array(z.string()),
  claims: claims.nullable(),
  usage,
});
export type ReportObject = z.output<typeof reportObject>;
