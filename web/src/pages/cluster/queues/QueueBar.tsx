import { useTranslation } from 'react-i18next';
import { UNLIMITED } from '../amounts';

interface Props {
  hue: number;
  fixed: boolean;
  /** What the end of the axis stands for. */
  size: number;
  guarantee: number;
  limit: number;
  used: number | null;
  wanted: number | null;
  fair: number | null;
  words: string;
}

/** Track to the limit, frame to the guarantee, solid what is used inside it, diagonal what is borrowed, dashed what is wanted as far as the limit lets it, a mark where the fair share ends. */
export function QueueBar({ hue, fixed, size, guarantee, limit, used, wanted, fair, words }: Props) {
  if (size <= 0) return null;
  const part = (amount: number) => `${Math.min(100, (100 * amount) / size)}%`;
  const owned = guarantee === UNLIMITED ? size : guarantee;
  const wall = fixed ? owned : limit === UNLIMITED ? size : limit;
  const inside = Math.min(used ?? 0, owned);
  const borrowed = Math.max(0, (used ?? 0) - owned);
  return (
    <div
      className="queue-bar"
      role="img"
      aria-label={words}
      style={{ '--hue': `var(--c-category-${hue})` } as React.CSSProperties}
    >
      <span className="track" style={{ width: part(wall) }} />
      {owned > 0 && <span className={fixed ? 'owned kept' : 'owned'} style={{ width: part(owned) }} />}
      {inside > 0 && <span className="inside" style={{ width: part(inside) }} />}
      {borrowed > 0 && <span className="borrowed" style={{ left: part(inside), width: part(borrowed) }} />}
      {wanted !== null && wanted > 0 && (
        <span
          className="wanted"
          style={{ left: part(used ?? 0), width: part(Math.max(0, Math.min(wanted, wall - (used ?? 0)))) }}
        />
      )}
      {!fixed && limit !== UNLIMITED && <span className="wall" style={{ left: part(limit) }} />}
      {!fixed && fair !== null && fair > 0 && <span className="fair" style={{ left: part(fair) }} />}
    </div>
  );
}

/** Once per page; what cannot be drawn yet is not in it. */
export function QueueLegend({ measured, waits, shared }: { measured: boolean; waits: boolean; shared: boolean }) {
  const { t } = useTranslation();
  return (
    <ul className="queue-legend" aria-label={t('queues.legend')}>
      <li>
        <span className="swatch owned" />
        {t('queues.guarantee')}
      </li>
      {measured && (
        <li>
          <span className="swatch inside" />
          {t('queues.usedInside')}
        </li>
      )}
      {measured && (
        <li>
          <span className="swatch borrowed" />
          {t('queues.borrowed')}
        </li>
      )}
      {waits && (
        <li>
          <span className="swatch wanted" />
          {t('queues.wanted')}
        </li>
      )}
      {shared && (
        <li>
          <span className="swatch fair" />
          {t('queues.fairShare')}
        </li>
      )}
      <li>
        <span className="swatch wall" />
        {t('queues.limit')}
      </li>
    </ul>
  );
}

/** 0, a quarter, a half, three quarters and all of the pool, above the bars. */
export function QueueAxis({ size, shown }: { size: number; shown: (amount: number) => string }) {
  if (size <= 0) return null;
  return (
    <span className="queue-axis" aria-hidden="true">
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <span key={share} style={{ left: `${share * 100}%` }}>
          {shown(size * share)}
        </span>
      ))}
    </span>
  );
}
