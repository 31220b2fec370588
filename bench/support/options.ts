import type { StoreKind } from './processes.ts';

/** What a scenario is asked to do. */
export interface BenchOptions {
  stores: readonly StoreKind[];
  rounds: number;
  /** How many documents the local search is measured over. */
  documents: number;
  /** How many files the vector store holds that is measured, of 100 KB each. */
  files: number;
  /** Peers beside those that are built in; see `npm run bench -- --peers`. */
  peers: Peers;
}

/** Programs that were installed outside of the project. */
export interface Peers {
  /** A folder with `fastify`, `@fastify/http-proxy` and `@portkey-ai/gateway` in its node_modules. */
  folder?: string;
  /** The nginx binary. */
  nginx?: string;
  /** responses.js in one file. */
  responses?: string;
}
