/** A series on the shared time axis; values in the unit that its title names. */
export interface Series {
  key: string;
  title: string;
  points: Point[];
  /** What was asked for, drawn dashed. */
  asked?: number;
  /** Where the axis ends; without it, above the highest value. */
  top?: number;
  /** Neighbours are joined however far apart they are: they come when the work reports them. */
  joined?: boolean;
}

interface Point {
  at: number;
  value: number;
  /** Points of different attempts are not joined. */
  attempt?: number;
}

const MINUTE = 60_000;
const steps = [
  5_000,
  15_000,
  30_000,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  60 * MINUTE,
  180 * MINUTE,
  360 * MINUTE,
  1440 * MINUTE,
  7 * 1440 * MINUTE,
];

/** Whole moments between two, at most so many. */
export function timeTicks(from: number, to: number, most: number): number[] {
  const span = to - from;
  const step = steps.find((one) => span / one <= most) ?? Math.ceil(span / most);
  const offset = new Date(from).getTimezoneOffset() * MINUTE;
  const ticks: number[] = [];
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** The smallest of 1, 2, 2.5, 4, 5, 10 times a power of ten that holds the value. */
export function niceTop(highest: number): number {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return Math.min(Number.MAX_VALUE, power * ([1, 2, 2.5, 4, 5, 10].find((one) => one * power >= highest) ?? 10));
}

/** Lines break where nothing was sampled for longer than a few steps. */
export function pieces(points: Series['points'], gap: number): Series['points'][] {
  const found: Series['points'][] = [];
  let last: Point | undefined;
  for (const point of points) {
    if (!last || point.at - last.at > gap || point.attempt !== last.attempt) found.push([]);
    found.at(-1)?.push(point);
    last = point;
  }
  return found;
}

/** The point nearest to a moment, if one is near enough. */
export function nearest(points: Series['points'], at: number, within: number): { at: number; value: number } | null {
  let best: { at: number; value: number } | null = null;
  for (const point of points) if (!best || Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
  return best && Math.abs(best.at - at) <= within ? best : null;
}
