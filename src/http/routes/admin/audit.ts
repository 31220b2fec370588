import { toSeconds } from '../../../base/clock.ts';
import { fieldError } from '../../../base/errors.ts';
import type { AuditList } from '../../../protocol/operating/admin.ts';
import { json } from '../../answers/answer.ts';
import type { AppDeps } from '../../app-deps.ts';
import type { Endpoint } from '../../endpoint.ts';
import { Query } from '../../query.ts';

/** `GET /admin/audit` (docs/keys.md, "Audit"): the newest first. */
export function listAudit({ audit }: AppDeps): Endpoint {
  return async ({ req }) => {
    const query = new Query(req);
    const limit = query.integer('limit', { min: 1, max: 1000 }) ?? 100;
    const page = await audit.list({ limit, after: query.text('after') });
    if (!page) throw fieldError('invalid_parameter', 'after', 'no such record.');
    const data = page.records.map((record) => ({ ...record, time: toSeconds(record.time) }));
    return json({ object: 'list', data, has_more: page.hasMore } satisfies AuditList);
  };
}
