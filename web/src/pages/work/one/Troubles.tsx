import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { Notice } from '../../../components/States';
import { useFormat } from '../../../i18n/format';

/** What Corral could not do with it, and tries again. */
export function Troubles({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  return work.troubles.map(({ step, detail, since }) => (
    <Notice key={step} tone="warning">
      {t(`work.trouble.${step}`, { detail })} {t('work.trouble.since', { moment: moment(since) })}
    </Notice>
  ));
}
