import { useEffect, useRef, useState } from '../lib/preact.js';
import { MarkdownReader } from './lexer.js';
import { withPlaceholders } from './markers.js';

/** The tokens of the newest text that has been parsed. */
export function useMarkdown({ text, annotations, writing }) {
  const [read, setRead] = useState({ tokens: [], markers: [], plain: '' });
  const reader = useRef(null);
  const markers = useRef([]);
  useEffect(() => {
    let drawing;
    const own = new MarkdownReader(({ original, markers, whole }, tokens) => {
      // Update with the frame, because an update in between would make the browser lay out the page twice.
      cancelAnimationFrame(drawing);
      drawing = requestAnimationFrame(() => setRead({ tokens, markers, plain: tokens ? '' : original }));
      // Only texts that are still being written need their worker.
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
