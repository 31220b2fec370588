import { line } from '../format.js';
import { useLayoutEffect } from '../lib/preact.js';

const NAME = 'research-gateway';
/** Letters that turn what follows them around: a title has nothing that would keep them apart from the page's name. */
const DIRECTIONS = /[\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

/** Names the page while this view is shown: in the tab, in the history, in bookmarks. */
export function useTitle(text) {
  useLayoutEffect(() => {
    const name = line(text.replace(DIRECTIONS, ''), 100);
    document.title = name === '' ? NAME : `${name} · ${NAME}`;
  }, [text]);
}
