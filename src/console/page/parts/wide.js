import { useEffect, useState } from '../lib/preact.js';

/** As the style sheets have it: from here on something stands beside the report. */
const WIDE = matchMedia('(width >= 66rem)');

export function useWide() {
  const [isWide, setIsWide] = useState(WIDE.matches);
  useEffect(() => {
    const look = () => setIsWide(WIDE.matches);
    WIDE.addEventListener('change', look);
    return () => WIDE.removeEventListener('change', look);
  }, []);
  return isWide;
}
