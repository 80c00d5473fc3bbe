const UNITS: Record<string, number> = { s: 1, min: 60, m: 60, h: 3600, d: 86_400 };

/** 90s, 30min, 2h, 1d as seconds; a bare number is seconds. Undefined where it is none. */
export function readDuration(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?$/.exec(text.trim());
  return found ? Math.round(Number(found[1]) * (UNITS[found[2] ?? 's'] ?? 1)) : undefined;
}

/** The same backwards, in the largest unit that leaves it whole. */
export function writeDuration(seconds: number): string {
  const unit = (['d', 'h', 'min'] as const).find((one) => seconds > 0 && seconds % (UNITS[one] ?? 1) === 0) ?? 's';
  return `${seconds / (UNITS[unit] ?? 1)}${unit}`;
}
