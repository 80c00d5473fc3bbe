import { useTranslation } from 'react-i18next';
import type { QueueWarning } from '../../../api/models';
import { useAmounts } from '../amounts';

/** Where more is promised than there is, in the words of the language in use. */
export function useWarningWords(): (warning: QueueWarning) => string {
  const { t } = useTranslation();
  const { told } = useAmounts();
  return ({ kind, queue_name, pool_name, resource, promised, available }) => t(`queues.over.${kind}`, { name: queue_name, pool: pool_name, promised: told(promised, resource), available: told(available, resource) });
}
