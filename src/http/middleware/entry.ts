import type { RequestHandler } from 'express';
import { logVisit } from '../access-log.ts';
import type { Floor } from '../parts.ts';
import type { Visits } from '../visit.ts';

/**
 * Opens the visit of every request: its id, the headers of every answer, the watch over its connection, and the line
 * of log and the metrics at its end. One handler, because each one that Express calls costs more than its work.
 */
export function entry(floor: Floor, visits: Visits): RequestHandler {
  const { log, metrics, stopping } = floor;
  return (req, res, next) => {
    const visit = visits.open(req, res, (ended) => {
      metrics.count(ended, { method: req.method, status: res.headersSent ? res.statusCode : 0 });
      logVisit(log, ended, req, res);
      // A connection kept for the next request would hold up the stop until its time is over.
      if (stopping.aborted) req.socket.destroySoon();
    });
    res.setHeader('x-request-id', visit.id);
    res.setHeader('x-content-type-options', 'nosniff');
    next();
  };
}
