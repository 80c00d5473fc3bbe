import { useQueryClient } from '@tanstack/react-query';
import { Button, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { ConfirmByName } from '../../../components/Modals';
import { useProblemText } from '../../../components/problem-text';

const NAMED = 6;

interface Outcome {
  done: number;
  refused: { name: string; why: string }[];
}

/** What to do with the selected people; each refusal is told by name. */
export function BulkBar({ people, onDone }: { people: readonly User[]; onDone: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const problemText = useProblemText();
  const [disabling, setDisabling] = useState(false);
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const active = people.filter((user) => user.state === 'active');

  const changeEach = async (users: readonly User[], change: { state?: 'disabled'; priority?: number }) => {
    setBusy(true);
    const result: Outcome = { done: 0, refused: [] };
    for (const user of users) {
      try {
        await body(
          client.PATCH('/api/v1/users/{user_id}', {
            params: { path: { user_id: user.id }, header: ifMatch(user) },
            body: change,
          }),
        );
        result.done += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { title, text } = problemText(error);
        result.refused.push({ name: user.display_name, why: `${title} ${text}` });
      }
    }
    await queries.invalidateQueries({ queryKey: keys.users });
    setBusy(false);
    if (result.refused.length === 0) onDone();
    else setOutcome(result);
  };

  const names = active
    .slice(0, NAMED)
    .map((user) => user.display_name)
    .join(t('people.comma'));
  const rest = active.length - NAMED;
  return (
    <>
      <span className="strong" role="status">
        {t('people.bulk.chosen', { count: people.length })}
      </span>
      {outcome && (
        <span role="alert" className="danger">
          {t('people.bulk.outcome', { done: outcome.done })}{' '}
          {outcome.refused.map(({ name, why }) => `${name}: ${why}`).join(' ')}
        </span>
      )}
      <span style={{ flex: 1 }} />
      <Select
        aria-label={t('people.bulk.priority')}
        placeholder={t('people.bulk.priority')}
        value={null}
        disabled={busy}
        onChange={(priority: number) => void changeEach(people, { priority })}
        popupMatchSelectWidth={false}
        options={[5, 4, 3, 2, 1].map((value) => ({ value, label: t('people.priorityIs', { value }) }))}
        style={{ minWidth: 120 }}
      />
      <Button type="text" onClick={onDone}>
        {t('people.bulk.clear')}
      </Button>
      <Button danger disabled={busy || active.length === 0} onClick={() => setDisabling(true)}>
        {t('people.bulk.disable', { count: active.length })}
      </Button>
      <ConfirmByName
        open={disabling}
        title={t('people.bulk.disableTitle', { count: active.length })}
        text={
          <>
            <p>{rest > 0 ? t('people.bulk.andMore', { names, count: rest }) : names}</p>
            <p>{t('people.disableText')}</p>
          </>
        }
        action={t('people.bulk.disable', { count: active.length })}
        keep={t('people.keepActive')}
        onConfirm={() => changeEach(active, { state: 'disabled' })}
        onClose={() => setDisabling(false)}
      />
    </>
  );
}
