import { useQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { clock, useFormat } from '../../../i18n/format';
import { useNow } from '../now';
import { metricsQuery, samplesQuery } from '../queries';
import { isOver, isPresent } from '../states';
import { Chart, GUTTER } from './Chart';
import { timeTicks } from './chart-scale';
import { StateStrip, partsOf } from './StateStrip';
import { useSeries } from './useSeries';

const TICK_WIDTH = 90;
const SHORT_MS = 10 * 60_000;

/** The states and everything measured on one time axis, with one cursor over all of it. */
export function TimeView({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const live = isPresent(work.state);
  const now = useNow(live ? 2_000 : 10_000);
  const [width, measure] = useWidth();
  const [cursor, setCursor] = useState<number | null>(null);
  const { data: samples } = useQuery(samplesQuery(work.id, work.created_at, live));
  const { data: metrics } = useQuery(metricsQuery(work.id, live));
  const series = useSeries(work, samples, metrics);
  const step = (samples?.step_seconds ?? 10) * 1000;

  const from = Date.parse(work.created_at);
  const end = isOver(work.state) && work.ended_at ? Date.parse(work.ended_at) : now;
  const to = Math.max(end, from + 1000);
  const room = Math.max(1, width - GUTTER);
  const x = (at: number) => GUTTER + ((at - from) / (to - from)) * room;
  const parts = partsOf(work, to);
  const bands = parts.filter((part) => part.state === 'suspended');
  const shown = cursor ?? to;
  const spoken = to - from < SHORT_MS ? clock(new Date(shown), true) : moment(new Date(shown));
  const move = (event: React.PointerEvent<HTMLElement>) => {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - GUTTER;
    setCursor(offset < 0 ? null : Math.min(to, from + (offset / room) * (to - from)));
  };
  const step_by = (share: number) => setCursor(Math.min(to, Math.max(from, shown + (to - from) * share)));
  return (
    <div
      ref={measure}
      className="time-view"
      role="slider"
      tabIndex={0}
      aria-label={t('work.chart.label')}
      aria-valuemin={0}
      aria-valuemax={Math.round((to - from) / 1000)}
      aria-valuenow={Math.round((shown - from) / 1000)}
      aria-valuetext={spoken}
      onPointerMove={move}
      onPointerLeave={() => setCursor(null)}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') step_by(-0.01);
        else if (event.key === 'ArrowRight') step_by(0.01);
        else if (event.key === 'Home') setCursor(from);
        else if (event.key === 'End') setCursor(null);
        else return;
        event.preventDefault();
      }}
    >
      {width > 0 && (
        <>
          <StateStrip parts={parts} x={x} width={width} />
          {series.length > 0 &&
            bands.map((band) => (
              <div
                key={band.from}
                className="band"
                style={{ left: x(band.from), width: Math.max(0, x(band.to) - x(band.from) - 1) }}
              />
            ))}
          {series.map((one) => (
            <Chart key={one.key} series={one} x={x} width={width} from={from} to={to} step={step} at={cursor} />
          ))}
          {series.length === 0 && (
            <p className="small text-2 no-samples">
              {isOver(work.state) ? t('work.chart.never') : t('work.chart.none')}
            </p>
          )}
          <TimeAxis from={from} to={to} x={x} width={width} cursor={cursor} />
        </>
      )}
    </div>
  );
}

function TimeAxis({
  from,
  to,
  x,
  width,
  cursor,
}: {
  from: number;
  to: number;
  x: (at: number) => number;
  width: number;
  cursor: number | null;
}) {
  const { moment } = useFormat();
  const seconds = to - from < SHORT_MS;
  const label = (at: number) =>
    seconds ? clock(new Date(at), true) : to - from > 86_400_000 ? moment(new Date(at)) : clock(new Date(at));
  return (
    <>
      <svg width={width} height={22} aria-hidden="true" className="axis">
        {timeTicks(from, to, Math.max(2, (width - GUTTER) / TICK_WIDTH)).map((at) => (
          <text key={at} x={Math.min(Math.max(x(at), GUTTER + 20), width - 26)} y={15} textAnchor="middle">
            {label(at)}
          </text>
        ))}
      </svg>
      {cursor !== null && (
        <div className="cursor-line" style={{ left: x(cursor) }}>
          <span>{label(cursor)}</span>
        </div>
      )}
    </>
  );
}

function useWidth(): [number, (element: HTMLElement | null) => (() => void) | undefined] {
  const [width, setWidth] = useState(0);
  const measure = useCallback((element: HTMLElement | null) => {
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, measure];
}
