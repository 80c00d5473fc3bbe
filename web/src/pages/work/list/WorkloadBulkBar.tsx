import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { keys } from '../../../api/keys';
import type { Workload, WorkloadAction } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';
import { useProblemText } from '../../../components/problem-text';
import { useFormat } from '../../../i18n/format';
import { actOn } from '../queries';
import { actionsFor } from '../states';

const NAMED = 6;
const offered = ['suspend', 'resume', 'stop', 'delete'] as const satisfies readonly WorkloadAction[];
type Asked = 'stop' | 'delete';

interface Outcome {
  done: number;
  refused: { name: string; why: string }[];
}

/** What to do with the chosen workloads; each refusal is told by name. */
export function WorkloadBulkBar({ work, onDone }: { work: readonly Workload[]; onDone: () => void }) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const queries = useQueryClient();
  const problemText = useProblemText();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const able = (action: WorkloadAction) => work.filter((row) => actionsFor(row).includes(action));

  const act = async (action: WorkloadAction) => {
    setBusy(true);
    setOutcome(null);
    try {
      const names = new Map(work.map((row) => [row.id, row.name]));
      const acted = await actOn(
        action,
        able(action).map((row) => row.id),
      );
      await queries.invalidateQueries({ queryKey: keys.workloads });
      const refused = acted.refused.map(({ id, detail, remedy }) => ({
        name: names.get(id) ?? id,
        why: `${detail} ${remedy}`,
      }));
      if (refused.length === 0) onDone();
      else setOutcome({ done: acted.changed.length, refused });
    } catch (error) {
      const { title, text } = problemText(error);
      setOutcome({ done: 0, refused: [{ name: title, why: text }] });
    } finally {
      setBusy(false);
    }
  };

  const hit = able(asked ?? 'stop');
  const names = hit
    .slice(0, NAMED)
    .map((row) => row.name)
    .join(t('people.comma'));
  return (
    <>
      <span className="strong" role="status">
        {t('work.bulk.chosen', { count: work.length })}
      </span>
      {outcome && (
        <span role="alert" className="danger">
          {t('work.bulk.done', { number: outcome.done })}{' '}
          {outcome.refused.map((one) => t('work.bulk.refused', one)).join(' ')}
        </span>
      )}
      <span style={{ flex: 1 }} />
      <Button type="text" onClick={onDone}>
        {t('work.bulk.clear')}
      </Button>
      {offered.map((action) => {
        const count = able(action).length;
        if (count === 0) return null;
        const confirmed = action === 'stop' || action === 'delete';
        return (
          <Button
            key={action}
            danger={confirmed}
            disabled={busy}
            onClick={() => (confirmed ? setAsked(action) : void act(action))}
          >
            {t(`work.bulk.${action}`, { number: number(count) })}
          </Button>
        );
      })}
      <ConfirmByName
        open={asked !== null}
        title={
          asked === 'delete'
            ? t('work.bulk.deleteTitle', { count: hit.length })
            : t('work.bulk.stopTitle', { count: hit.length })
        }
        text={
          <>
            <p>{hit.length > NAMED ? t('work.bulk.andMore', { names, count: hit.length - NAMED }) : names}</p>
            <p>{asked === 'delete' ? t('work.does.deleteText') : t('work.does.stopMany')}</p>
          </>
        }
        action={t(`work.bulk.${asked ?? 'stop'}`, { number: number(hit.length) })}
        keep={asked === 'delete' ? t('work.does.keep') : t('work.does.keepRunning')}
        onConfirm={() => act(asked ?? 'stop')}
        onClose={() => setAsked(null)}
      />
    </>
  );
}
