import { useQueryClient } from '@tanstack/react-query';
import { Button, Dropdown } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { WorkloadAction, WorkloadDetail } from '../../../api/models';
import { MoreIcon } from '../../../components/icons';
import { ConfirmByName } from '../../../components/Modals';
import { useProblemText } from '../../../components/problem-text';
import { useFormat } from '../../../i18n/format';
import { usePhone } from '../../../theme/preferences';
import { workloadQuery } from '../queries';
import { actionsFor } from '../states';

/** What one may do with it as it is now; ending and deleting are asked for twice. */
export function WorkloadActions({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const phone = usePhone();
  const queries = useQueryClient();
  const problemText = useProblemText();
  const [asked, setAsked] = useState<'stop' | 'delete' | null>(null);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);

  const act = async (action: WorkloadAction) => {
    const changed = await body(
      client.POST('/api/v1/workloads/{workload_id}/{action}', { params: { path: { workload_id: work.id, action } } }),
    );
    queries.setQueryData(workloadQuery(work.id).queryKey, changed);
    void queries.invalidateQueries({ queryKey: keys.workloads });
  };
  const actAtOnce = async (action: WorkloadAction) => {
    setBusy(true);
    setRefusal(null);
    try {
      await act(action);
    } catch (error) {
      const { title, text } = problemText(error);
      setRefusal(`${title} ${text}`);
    } finally {
      setBusy(false);
    }
  };
  if (!work.may_change) return null;
  const again = work.state === 'stopped' || work.state === 'failed';
  const actions = actionsFor(work);
  const ending = actions.filter((action) => action === 'stop' || action === 'delete');
  return (
    <>
      {refusal !== null && (
        <span role="alert" className="small danger">
          {refusal}
        </span>
      )}
      {actions
        .filter((action) => action === 'suspend' || action === 'resume')
        .map((action) => (
          <Button key={action} disabled={busy} onClick={() => void actAtOnce(action)}>
            {action === 'resume' && again ? t('work.does.runAgain') : t(`work.does.${action}`)}
          </Button>
        ))}
      {/* On a phone the bar at the foot is where Launch was, so what ends work is one step further away. */}
      {!phone &&
        ending.map((action) => (
          <Button key={action} danger onClick={() => setAsked(action)}>
            {t(`work.does.${action}`)}
          </Button>
        ))}
      {phone && ending.length > 0 && (
        <Dropdown
          trigger={['click']}
          placement="topRight"
          menu={{
            items: ending.map((action) => ({
              key: action,
              danger: true,
              label: t(`work.does.${action}`),
              onClick: () => setAsked(action),
            })),
          }}
        >
          <Button className="more-actions" icon={<MoreIcon />} aria-label={t('work.does.more', { name: work.name })} />
        </Dropdown>
      )}
      <ConfirmByName
        open={asked !== null}
        title={
          asked === 'delete'
            ? t('work.does.deleteTitle', { name: work.name })
            : t('work.does.stopTitle', { name: work.name })
        }
        text={
          asked === 'delete'
            ? t('work.does.deleteText')
            : t('work.does.stopText', { duration: duration(Number(work.spec.grace_seconds ?? 0)) })
        }
        action={t(`work.does.${asked ?? 'stop'}`)}
        keep={asked === 'delete' ? t('work.does.keep') : t('work.does.keepRunning')}
        onConfirm={() => act(asked ?? 'stop')}
        onClose={() => setAsked(null)}
      />
    </>
  );
}
