import type { EvidenceRecord } from '../run/evidence.ts';
import type { ExecutableCall } from '../run/transcript.ts';

/** A result that gave something, and what it says. */
export interface FoundResult {
  call: ExecutableCall;
  records: readonly EvidenceRecord[];
}

/** What was found in one research turn. */
export interface TurnFindings {
  /** Counted from 1. */
  turn: number;
  notes: readonly EvidenceRecord[];
  results: readonly FoundResult[];
}
