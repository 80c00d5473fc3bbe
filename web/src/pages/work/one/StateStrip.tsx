import { useTranslation } from 'react-i18next';
import type { WorkloadDetail, WorkloadState } from '../../../api/models';
import { useFormat } from '../../../i18n/format';
import { isOver, type Ended } from '../states';

export interface Part {
  state: Exclude<WorkloadState, Ended>;
  from: number;
  to: number;
}

/** The times between changes of state, until the work was over. */
export function partsOf(work: WorkloadDetail, end: number): Part[] {
  return work.transitions.flatMap((one, index) => {
    if (isOver(one.state)) return [];
    const next = work.transitions[index + 1];
    return [{ state: one.state, from: Date.parse(one.at), to: next ? Date.parse(next.at) : end }];
  });
}

const fills: Record<Part['state'], string> = {
  queued: 'var(--c-amber-fill)',
  infeasible: 'var(--c-red-fill)',
  starting: 'var(--c-blue-fill)',
  running: 'var(--c-green-fill)',
  suspending: 'var(--c-violet-fill)',
  suspended: 'url(#hatch)',
  stopping: 'var(--c-text-4)',
};
const LETTER = 6.4;
const HAN = 12.5;
const wide = (text: string): number =>
  [...text].reduce((sum, letter) => sum + (/\p{Script=Han}/u.test(letter) ? HAN : LETTER), 0);

/** The states as one strip; its words stand where there is room for them. */
export function StateStrip({ parts, x, width }: { parts: Part[]; x: (at: number) => number; width: number }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  return (
    <svg width={width} height={44} className="strip" aria-hidden="true">
      <defs>
        <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="7" height="7" fill="var(--c-violet-soft)" />
          <rect width="2" height="7" fill="var(--c-violet-fill)" />
        </pattern>
      </defs>
      {parts.map(({ state, from, to }) => {
        const left = x(from);
        const length = Math.max(1.5, x(to) - left - 1);
        const label = t('work.chipFor', { state: t(`state.${state}`), duration: duration((to - from) / 1000) });
        return (
          <g key={from}>
            <rect x={left} y={24} width={length} height={14} rx={Math.min(3, length / 2)} fill={fills[state]} />
            {wide(label) < length && (
              <text x={left + length / 2} y={14} textAnchor="middle">
                {label}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
