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
  /** The day on which the run ended. */
  date: z.string(),
  model: z.string(),
  /** `heading` is plain text, null before the first heading; `text` is Markdown with citation markers. */
  sections: z.array(z.object({ heading: z.string().nullable(), text: z.string() })),
  sources: z.array(
    z.object({
      /** Its number in the text; null for a bare URL in the text. */
      index: z.int().positive().nullable(),
      url: z.string(),
      title: z.string(),
      /** Date of publication, ISO 8601, to the day or the month; absent if unknown. */
      date: z.string().optional(),
      verified: z.boolean(),
      /** The passages of the source that sentences cite, each once. */
      quotes: z.array(z.string()),
    }),
  ),
  /** Caveats for readers: that the report was cut off, failed, or rests on no source. */
  notes: z.array(z.string()),
  claims: claims.nullable(),
  usage,
});
export type ReportObject = z.output<typeof reportObject>;
