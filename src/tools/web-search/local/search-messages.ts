import type { TraceContext } from '../../../base/telemetry/trace-context.ts';
import type { EmbedAnswer, EmbeddingPurpose } from './semantic-search.ts';

/** A query of the gateway to the thread of the local search. */
export interface SearchQuestion {
  text: string;
  limit: number;
  trace: TraceContext | undefined;
}

/** A thread's request for the vectors of texts. */
export interface EmbedRequest {
  id: number;
  purpose: EmbeddingPurpose;
  texts: readonly string[];
  trace: TraceContext | undefined;
}

/** The gateway's answer to an `EmbedRequest`. */
export interface EmbeddedTexts {
  id: number;
  vectors: EmbedAnswer;
}

/** The `workerData` of the thread. */
export interface SearchThreadData {
  folder: string;
  /** The file of the index; absent: in memory. */
  indexFile: string | undefined;
  /** The embedding model; absent: no semantic search. */
  embeddingModel: string | undefined;
}

/** A message of a thread: the answer to a query, or its error; texts to embed; a line for the log. */
export type ThreadReply<Answer> =
  | { id: number; value: Answer }
  | { id: number; error: string }
  | EmbedRequest
  | { trouble: string };
