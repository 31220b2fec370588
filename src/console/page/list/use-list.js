import { app } from '../app.js';
import { useEffect, useRef, useState } from '../lib/preact.js';

const PAGE = 20;
const REFRESH_MS = 4000;

const NOTHING = { entries: undefined, hasMore: false, error: null };

/** The first page, read again while the page is looked at, and older pages on demand. */
export function useList(kind, filter) {
  const { client } = app.value;
  const [list, setList] = useState(NOTHING);
  const [loading, setLoading] = useState(false);
  /** Counts what was asked for: an answer to what is no longer asked is nobody's. */
  const asked = useRef({ list: 0, page: 0 });
  const query = (after, limit = PAGE) => ({ limit, after, ...filter });

  const load = async () => {
    const own = { list: asked.current.list, page: ++asked.current.page };
    const isWanted = () => own.list === asked.current.list && own.page === asked.current.page;
    try {
      const { data, has_more: hasMore } = await kind.list(client, query());
      if (isWanted()) setList((before) => withFirstPage(before, { data, hasMore }));
    } catch (error) {
      if (isWanted()) setList((before) => ({ ...before, error }));
    }
  };
  useEffect(() => {
    setList(NOTHING);
    setLoading(false);
    void load();
    const timer = setInterval(() => {
      if (!document.hidden) void load();
    }, REFRESH_MS);
    return () => {
      clearInterval(timer);
      asked.current.list += 1;
    };
  }, [kind, filter.status, filter.model]);
  const more = async (limit) => {
    const own = asked.current.list;
    setLoading(true);
    try {
      const { data, has_more: hasMore } = await kind.list(client, query(list.entries.at(-1).id, limit));
      if (own !== asked.current.list) return;
      setList((before) => ({ entries: [...before.entries, ...data], hasMore, error: null }));
    } catch (error) {
      if (own === asked.current.list) setList((before) => ({ ...before, error }));
    }
    setLoading(false);
  };
  /** What was done to an entry, on whichever page it stands; `now`: absent where it is gone. */
  const changed = (id, now) => {
    const put = (entry) => (entry.id !== id ? [entry] : now ? [now] : []);
    setList((before) => ({ ...before, entries: before.entries?.flatMap(put) }));
  };
  return { entries: list.entries, error: list.error, loading, load, changed, more: list.hasMore ? more : undefined };
}

/** Older pages stay; the first is the newest truth. */
function withFirstPage(before, { data, hasMore }) {
  const fresh = new Set(data.map(({ id }) => id));
  const known = before.entries ?? [];
  const place = known.findIndex(({ id }) => id === data.at(-1)?.id);
  // Where they do not meet, others stand between them that nobody has read.
  const behind = place === -1 ? [] : known.slice(place + 1);
  const kept = hasMore ? behind.filter(({ id }) => !fresh.has(id)) : [];
  return { entries: [...data, ...kept], hasMore: kept.length > 0 ? before.hasMore : hasMore, error: null };
}
