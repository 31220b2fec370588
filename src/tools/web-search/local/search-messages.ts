import type { TraceContext } from '../../../base/trace-context.ts';
import type { EmbeddingPurpose } from './meaning.ts';

/** What the gateway asks the thread of the local search. */
export interface SearchQuestion {
  text: string;
  limit: number;
  /** Of the run that searches. */
  trace: TraceContext | undefined;
}

/** A thread asks for the vectors of texts. */
export interface EmbedRequest {
  id: number;
  purpose: EmbeddingPurpose;
  texts: readonly string[];
  trace: TraceContext | undefined;
}

/** The gateway's answer to that; without vectors if none could be had. */
export interface EmbeddedTexts {
  id: number;
  vectors: Float32Array[] | undefined;
}

/** What the thread is started with. */
export interface SearchThreadData {
  folder: string;
  /** Where the index is kept; absent: in memory. */
  indexFile: string | undefined;
  /** What vectors come from, where passages are found by meaning too. */
  embeddingModel: string | undefined;
}

/** What a thread says: the answer to a numbered question, or why it failed; texts to embed; a line for the log. */
export type ThreadReply<Answer> =
  | { id: number; value: Answer }
  | { id: number; error: string }
  | EmbedRequest
  | { trouble: string };
