import { useEffect, useRef, useState } from '../lib/preact.js';
import { MarkdownReader } from './lexer.js';
import { withPlaceholders } from './markers.js';

/** Tokens of the newest text that was read so far. */
export function useMarkdown({ text, annotations, writing }) {
  const [read, setRead] = useState({ tokens: [], markers: [], plain: '' });
  const reader = useRef(null);
  const markers = useRef([]);
  useEffect(() => {
    let drawing;
    const own = new MarkdownReader(({ original, markers, whole }, tokens) => {
      // With what else changes in a frame: in between it would make the browser lay the page out twice.
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => setRead({ tokens, markers, plain: tokens ? '' : original }));
      // Of many texts that stand in the page only those that are being written need a worker.
      if (whole) own.stop();
    });
    reader.current = own;
    return () => {
      cancelAnimationFrame(drawing);
      own.stop();
    };
  }, []);
  useEffect(() => {
    const found = withPlaceholders(text, annotations, markers.current);
    markers.current = found.markers;
    reader.current.read({ ...found, original: text, whole: !writing });
  }, [text, annotations, writing]);
  return read;
}
