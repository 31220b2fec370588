import { z } from 'zod';
import { shownAddress } from '../../base/hosts.ts';
import { storedObject } from '../../base/stored-object.ts';
import type { ToolSource } from '../../tools/tool.ts';

/** A `ToolSource` with its number in the run (docs/research.md, "Sources and citations"). */
export const source = storedObject({
  /** 1, 2, 3 in the order in which the run saw them. */
  id: z.int().positive(),
  url: z.string(),
  title: z.string(),
  snippet: z.string(),
  published: z.string().optional(),
  kind: z.enum(['listed', 'read']),
  /** Where redirects led: the same source under another URL. */
  movedTo: z.string().optional(),
  /** A search listed it, but reading it failed. */
  unreadable: z.literal(true).optional(),
});
export type Source = z.output<typeof source>;

/**
 * The sources of a run, numbered in the order in which it saw them. A URL keeps its number when a page that a search
 * listed is read in full later.
 */
export class SourceRegistry {
  readonly #byUrl = new Map<string, Source>();
  readonly #byId = new Map<number, Source>();
  readonly #hosts = new Set<string>();
  /** Sources that are in the transcript. */
  readonly #recorded = new Set<number>();
  #last = 0;

  /**
   * Numbers what a tool found, and returns the sources that are new or newly read, to be stored. A source that another
   * lane has just found is returned, too, until `note` was called for it: the transcript has to name a source no later
   * than the first result that shows it.
   */
  add(found: readonly ToolSource[]): Source[] {
    const changed: Source[] = [];
    for (const source of found) {
      const known = this.#byUrl.get(urlKey(source.url));
      if (known && (known.kind === 'read' || source.kind === 'listed')) {
        if (!this.#recorded.has(known.id) && !changed.includes(known)) changed.push(known);
        continue;
      }
      const { unreadable: _, ...before } = known ?? {};
      // A copy, because a slice of a string, such as a snippet, keeps the whole string in memory.
      const entry: Source = structuredClone({
        ...before,
        ...source,
        url: shownAddress(source.url),
        id: known?.id ?? ++this.#last,
      });
      this.#set(entry);
      changed.push(entry);
    }
    return changed;
  }

  /** Updates sources, and marks them as part of the transcript. */
  note(sources: readonly Source[]): void {
    this.update(sources);
    for (const { id } of sources) this.#recorded.add(id);
  }

  /** Replaces sources by versions that know more of them. */
  update(sources: readonly Source[]): void {
    for (const source of sources) this.#set(source);
  }

  /** Marks a page as unreadable, unless it was read before. */
  markUnreadable(url: string): void {
    const source = this.byUrl(url);
    if (source && source.kind !== 'read') this.#set({ ...source, unreadable: true });
  }

  byUrl(url: string): Source | undefined {
    return this.#byUrl.get(urlKey(url));
  }

  /** Whether a source is at a host; `www.` makes no difference. */
  knowsHost(host: string): boolean {
    return this.#hosts.has(host.replace(WWW, ''));
  }

  byId(id: number): Source | undefined {
    return this.#byId.get(id);
  }

  get size(): number {
    return this.#byId.size;
  }

  all(): Source[] {
    return [...this.#byId.values()];
  }

  #set(source: Source): void {
    this.#byUrl.set(urlKey(source.url), source);
    if (source.movedTo !== undefined) this.#byUrl.set(urlKey(source.movedTo), source);
    this.#byId.set(source.id, source);
    for (const url of [source.url, source.movedTo ?? '']) {
      const host = hostOf(url);
      if (host !== undefined) this.#hosts.add(host);
    }
    this.#last = Math.max(this.#last, source.id);
  }
}

const WWW = /^www\./;

/** The host of a URL without `www.`; undefined if there is none. */
export function hostOf(url: string): string | undefined {
  return URL.parse(url)?.host.replace(WWW, '') || undefined;
}

/** A URL without fragment, trailing slash and tracking parameters: spellings with one key are one source. */
export function urlKey(url: string): string {
  if (!URL.canParse(url)) return url.trim();
  const parsed = new URL(shownAddress(url));
  parsed.hash = '';
  for (const name of [...parsed.searchParams.keys()]) {
    if (/^(utm_\w+|fbclid|gclid|msclkid|mc_cid|mc_eid)$/.test(name)) parsed.searchParams.delete(name);
  }
  return parsed.href.replace(/\/$/, '');
}
