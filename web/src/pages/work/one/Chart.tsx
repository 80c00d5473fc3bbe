import { useFormat } from '../../../i18n/format';
import { nearest, niceTop, pieces, type Series } from './chart-scale';

/** Room for the numbers at the left of strip and charts. */
export const GUTTER = 44;
const HEIGHT = 72;
const TOP = 6;
/** Beyond this, digits would not fit beside the axis. */
const LONG = 1e7;

interface Props {
  series: Series;
  x: (at: number) => number;
  width: number;
  from: number;
  to: number;
  step: number;
  at: number | null;
}

/** One line of values; the one under the cursor stands beside the name, never at the pointer. */
export function Chart({ series, x, width, from, to, step, at }: Props) {
  const { number } = useFormat();
  const { points, asked, title } = series;
  const top = series.top ?? niceTop(Math.max(asked ?? 0, ...points.map(({ value }) => value)));
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - 2 * TOP);
  const gap = Math.max(step * 3, (to - from) / 60);
  const chosen = at === null ? points.at(-1) : nearest(points, at, gap);
  const rounded = (value: number) =>
    Math.abs(value) < LONG ? number(Number(value.toPrecision(3))) : value.toExponential(1);
  return (
    <figure className="chart">
      <figcaption>
        <span className="strong">{title}</span> {chosen && <span className="value">{rounded(chosen.value)}</span>}
      </figcaption>
      <svg width={width} height={HEIGHT} aria-hidden="true">
        {[0, top / 2, top].map((tick) => (
          <g key={tick}>
            <line x1={GUTTER} x2={width} y1={y(tick)} y2={y(tick)} stroke="var(--c-line)" />
            <text x={GUTTER - 8} y={y(tick) + 4} textAnchor="end">
              {rounded(tick)}
            </text>
          </g>
        ))}
        {asked !== undefined && (
          <line x1={GUTTER} x2={width} y1={y(asked)} y2={y(asked)} stroke="var(--c-text-3)" strokeDasharray="4 4" />
        )}
        {pieces(points, series.joined ? Infinity : gap).map((piece) => (
          // A line of one point is drawn as a dot by its round ends.
          <polyline
            key={piece[0]?.at}
            points={[...piece, ...piece.slice(0, piece.length === 1 ? 1 : 0)]
              .map((point) => `${x(Math.max(from, point.at)).toFixed(1)},${y(point.value).toFixed(1)}`)
              .join(' ')}
            fill="none"
            stroke="var(--c-blue-fill)"
            strokeWidth={1.5}
            strokeLinejoin="round"
            strokeLinecap="round"
          />
        ))}
        {at !== null && chosen && <circle cx={x(chosen.at)} cy={y(chosen.value)} r={3} fill="var(--c-blue-fill)" />}
      </svg>
    </figure>
  );
}
