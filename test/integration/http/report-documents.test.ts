import assert from 'node:assert/strict';
import { ReportDocuments } from '../../../src/http/report/documents.ts';
import { reportWith } from '../../support/finished-report.ts';

describe('a report', () => {
  for (const format of ['html', 'docx', 'json'] as const) {
    it(`is made as ${format} off the event loop, or fails with advice if its Markdown takes too long to read`, async () => {
      const reports = new ReportDocuments();
      const signal = new AbortController().signal;
      let ticks = 0;
      const timer = setInterval(() => (ticks += 1), 5);
      const text = `${'*a **b _c '.repeat(40_000)}\n\n${'['.repeat(40_000)}\n\n${'> '.repeat(5000)}x`;
      const made = await reports.make(reportWith(text), { format, signal }).then(
        (body) => ({ length: body.length, code: undefined, message: '' }),
        (error: { code: string; message: string }) => ({ length: 0, code: error.code, message: error.message }),
      );
      clearInterval(timer);
      assert.ok(made.length > 0 || made.code === 'invalid_output', String(made.code));
      if (made.code) assert.match(made.message, /cannot be made into .+\. Get it with format=md\.$/);
      assert.ok(ticks > 0, 'other work went on meanwhile');
      assert.ok((await reports.make(reportWith('fine [1]'), { format, signal })).length > 0);
    });

    it(`stops being made as ${format} when its reader leaves`, async () => {
      const leave = new AbortController();
      const made = new ReportDocuments().make(reportWith('*a '.repeat(100_000)), { format, signal: leave.signal });
      leave.abort(new Error('left'));
      await assert.rejects(made, /left/);
    });
  }
});
