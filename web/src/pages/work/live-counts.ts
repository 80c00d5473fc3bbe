import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/format';
import { summaryQuery, type WorkloadFilters } from './queries';

/** "3 running, 1 waiting." of what the filters let through. */
export function useLiveCounts(filters: WorkloadFilters): string {
  const { t } = useTranslation();
  const { number } = useFormat();
  const { data } = useQuery(summaryQuery(filters));
  if (!data) return '\u00a0';
  const { running = 0, starting = 0, queued = 0, suspended = 0 } = data.states as Partial<Record<string, number>>;
  const counts = (
    [
      ['running', running],
      ['starting', starting],
      ['waiting', queued],
      ['suspended', suspended],
    ] as const
  ).filter(([, count]) => count > 0);
  return counts.length === 0
    ? t(filters.user_id ? 'work.nothingOfYours' : 'work.nothingRuns')
    : t('work.answer', {
        counts: counts.map(([key, count]) => t(`work.count.${key}`, { number: number(count) })).join(t('work.comma')),
      });
}
