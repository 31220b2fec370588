import assert from 'node:assert/strict';
import { publicId } from '../../src/base/ids.ts';
import type { UrlCitation } from '../../src/protocol/items.ts';
import { newResponse, type ResponseObject } from '../../src/protocol/response.ts';
import { type Report, reportOf } from '../../src/runs/projections/report.ts';

const ID = '94249558-d3df-4249-a140-f29d39d94616';
export const QUESTION = [{ type: 'message', role: 'user', content: 'Is tea older than coffee?' }];

/** A finished response with this text, in which each `[n]` is annotated as source n. */
export function responseWith(text: string, change: Partial<ResponseObject> = {}): ResponseObject {
  const response = newResponse({
    id: publicId('responses', ID),
    created_at: 1_795_304_000,
    model: 'deep',
    reasoning: { effort: 'low', summary: null },
  });
  const annotations = [...text.matchAll(/\[(\d)\]/g)].map(
    (match): UrlCitation => ({
      type: 'url_citation',
      start_index: match.index,
      end_index: match.index + match[0].length,
      url: `https://example.org/${match[1]}`,
      title: `Page ${match[1]}`,
      ...{ index: Number(match[1]) },
      source_id: Number(match[1]) + 10,
      verified: match[1] !== '2',
      cited_text: null,
      support: 'unchecked',
    }),
  );
  const content = [{ type: 'output_text' as const, text, annotations, logprobs: [] }];
  return {
    ...response,
    id: publicId('responses', ID),
    status: 'completed',
    completed_at: 1_795_304_207,
    output: [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }],
    output_text: text,
    ...change,
  };
}

/** The report of a finished response with this text. */
export function reportWith(text: string, change: Partial<ResponseObject> = {}): Report {
  const report = reportOf(responseWith(text, change), QUESTION);
  assert.ok(report);
  return report;
}
