const UNITS: Record<string, number> = { s: 1, sec: 1, min: 60, m: 60, h: 3600, d: 86_400, w: 604_800 };
const PART = /(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y;

/** 90s, 30min, 2h, 1d 12h as seconds, rounded up: what the API and the command read. Undefined where it is none. */
export function readDuration(text: string): number | undefined {
  const typed = text.trim().toLowerCase();
  let seconds = 0;
  PART.lastIndex = 0;
  do {
    const [, amount, name] = PART.exec(typed) ?? [];
    const unit = UNITS[name ?? ''];
    if (unit === undefined) return undefined;
    seconds += Number(amount) * unit;
  } while (PART.lastIndex < typed.length);
  return Math.ceil(Number(seconds.toFixed(6)));
}

/** The same backwards, in the largest unit that leaves it whole. */
export function writeDuration(seconds: number): string {
  const unit = (['d', 'h', 'min'] as const).find((one) => seconds > 0 && seconds % (UNITS[one] ?? 1) === 0) ?? 's';
  return `${seconds / (UNITS[unit] ?? 1)}${unit}`;
}
