import type { JsonValue } from '../base/json.ts';

/** What tools share between runs: search results and pages, each with a time to live. The store's cache implements it. */
export interface ToolCache {
  /** The value under `key`; undefined if there is none or it has expired. */
  get(key: string): Promise<JsonValue | undefined>;
  set(key: string, value: JsonValue, ttlMs: number): Promise<unknown>;
}
