import { app } from '../app.js';
import { useEffect, useRef, useState } from '../lib/preact.js';

const PAGE_SIZE = 20;
const REFRESH_MS = 4000;

const NOTHING = { entries: undefined, hasMore: false, error: null };

/** The first page of a list, refreshed while the console is visible, and older pages on demand. */
export function useList(kind, filter) {
  const { client } = app.value;
  const [list, setList] = useState(NOTHING);
  const [loading, setLoading] = useState(false);
  /** Counts lists and requests of their first page; `known`: the newest request whose answer, or a change after it, is shown. */
  const latest = useRef({ list: 0, page: 0, known: 0 });
  const query = (after, limit = PAGE_SIZE) => ({ limit, after, ...filter });

  const load = async () => {
    const own = { list: latest.current.list, page: ++latest.current.page };
    // Answers may take longer than the pause between two requests.
    const isNews = () => {
      if (own.list !== latest.current.list || own.page <= latest.current.known) return false;
      latest.current.known = own.page;
      return true;
    };
    try {
      const { data, has_more: hasMore } = await kind.list(client, query());
      if (isNews()) setList((before) => withFirstPage(before, { data, hasMore }));
    } catch (error) {
      if (isNews()) setList((before) => ({ ...before, error }));
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
      latest.current.list += 1;
    };
  }, [kind, filter.status, filter.model]);
  const loadMore = async (limit) => {
    const own = latest.current.list;
    setLoading(true);
    try {
      const { data, has_more: hasMore } = await kind.list(client, query(list.entries.at(-1).id, limit));
      if (own !== latest.current.list) return;
      setList((before) => ({ entries: [...before.entries, ...data], hasMore, error: null }));
    } catch (error) {
      if (own === latest.current.list) setList((before) => ({ ...before, error }));
    }
    setLoading(false);
  };
  /** Replaces an entry on any page, or removes it if `updated` is absent. */
  const replaceEntry = (id, updated) => {
    latest.current.known = latest.current.page;
    const replace = (entry) => (entry.id !== id ? [entry] : updated ? [updated] : []);
    setList((before) => ({ ...before, entries: before.entries?.flatMap(replace) }));
  };
  const { entries, error, hasMore } = list;
  return { entries, error, loading, load, replaceEntry, loadMore: hasMore ? loadMore : undefined };
}

/** Replaces the first page and keeps older pages. */
function withFirstPage(before, { data, hasMore }) {
  const fresh = new Set(data.map(({ id }) => id));
  const known = before.entries ?? [];
  const place = known.findIndex(({ id }) => id === data.at(-1)?.id);
  // If the new page does not reach the known entries, there are unread ones in between.
  const behind = place === -1 ? [] : known.slice(place + 1);
  const kept = hasMore ? behind.filter(({ id }) => !fresh.has(id)) : [];
  return { entries: [...data, ...kept], hasMore: kept.length > 0 ? before.hasMore : hasMore, error: null };
}
