import type { TraceContext } from '../../../base/trace-context.ts';
import type { FolderAnswer } from './folder-index.ts';
import type { EmbeddingPurpose } from './meaning.ts';

/** What the gateway asks the thread of the local search. */
export interface SearchQuestion {
  type: 'search';
  id: number;
  text: string;
  limit: number;
  /** Of the run that searches. */
  trace: TraceContext | undefined;
}

/** A thread asks for the vectors of texts. */
export interface EmbedRequest {
  type: 'embed';
  id: number;
  purpose: EmbeddingPurpose;
  texts: readonly string[];
  trace: TraceContext | undefined;
}

/** What the gateway says to `embed`; without vectors where they could not be had. */
export interface EmbeddedTexts {
  type: 'embedded';
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

/** What the thread answers. */
export type SearchReply =
  | ({ type: 'found'; id: number } & FolderAnswer)
  | { type: 'failed'; id: number }
  | EmbedRequest
  | { type: 'trouble'; message: string };
