import { GatewayError } from '../../base/errors.ts';
import { DOCX_TYPE, type ReportFormat } from '../../protocol/report.ts';
import { getReportQuery } from '../../protocol/requests/queries.ts';
import { reportOf } from '../../runs/projections/report.ts';
import { readInput } from '../../runs/stored/stored-request.ts';
import type { Answer } from '../answers/answer.ts';
import type { AppDeps } from '../app-deps.ts';
import type { Call } from '../endpoint.ts';
import { readQuery } from '../query.ts';
import { disposition } from '../report/file-name.ts';
import { reportMarkdown } from '../report/markdown.ts';

const TYPES: Readonly<Record<ReportFormat, string>> = {
  md: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  docx: DOCX_TYPE,
  json: 'application/json; charset=utf-8',
};

/** `GET /v1/responses/:id/report` (docs/api.md, "The report as a document"). */
export async function getReport({ runs, reports }: AppDeps, { req, res, identity }: Call): Promise<Answer> {
  const { format } = readQuery(req, getReportQuery);
  const run = await runs.find(identity.caller, 'responses', String(req.params.id));
  const response = await runs.response(run);
  if (response.status === 'in_progress') {
    const message = 'This response is still in progress: its report is there when it has ended.';
    throw new GatewayError('invalid_parameter', message, { param: 'id' });
  }
  const report = reportOf(response, readInput(run));
  if (!report) throw new GatewayError('not_found', 'This response ended without a report.');
  const { signal } = identity.context;
  const body = format === 'md' ? Buffer.from(reportMarkdown(report)) : await reports.make(report, { format, signal });
  res.writeHead(200, {
    'content-type': TYPES[format],
    'content-length': body.length,
    'content-disposition': disposition(report, format),
    'cache-control': 'no-store',
    // Keeps the report from running scripts when it is opened in a browser.
    'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
  });
  res.end(body);
  return { kind: 'written' };
}
