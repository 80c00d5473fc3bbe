import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { QueueWarning } from '../../../api/models';
import { useAmounts } from '../amounts';
import { queuesQuery } from '../queries';
import { usePoolWords } from '../zones';
import { inSeveralZones } from './tree';

/** Where more is promised than there is, in the words of the language in use. */
export function useWarningWords(): (warning: QueueWarning) => string {
  const { t } = useTranslation();
  const { told } = useAmounts();
  const pools = useQuery(queuesQuery).data?.pools ?? [];
  const words = usePoolWords(inSeveralZones(pools));
  const poolOf = (id: string, name: string) => words(pools.find((one) => one.id === id)?.zone_name ?? '', name);
  return ({ kind, queue_name, pool_id, pool_name, resource, promised, available }) =>
    t(`queues.over.${kind}`, {
      name: queue_name,
      pool: poolOf(pool_id, pool_name),
      promised: told(promised, resource),
      available: told(available, resource),
    });
}
