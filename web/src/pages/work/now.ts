import { useEffect, useState } from 'react';

/** The time, renewed every so many milliseconds, for durations that grow on screen. */
export function useNow(every = 10_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export const secondsBetween = (from: string, to: string | number): number =>
  Math.max(0, ((typeof to === 'string' ? Date.parse(to) : to) - Date.parse(from)) / 1000);
