import { useEffect, useState } from '../lib/preact.js';

/** Whether an element was on the screen since it is there. `element`: a ref. */
export function useSeen(element) {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      setSeen(true);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return seen;
}
