import { Button, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../../api/errors';
import type { User } from '../../../api/models';
import { ChangedMeanwhile } from '../../../components/LatestVersion';
import { Section } from '../../../components/Page';
import { ProblemNotice } from '../../../components/States';
import { useUnsaved } from '../../../components/unsaved';
import { useChangePerson } from './change-person';

/** 1 to 5, changed in place: the old value stays readable until it is saved. */
export function PersonPriority({ user, manages }: { user: User; manages: boolean }) {
  const { t } = useTranslation();
  const change = useChangePerson(user);
  const [value, setValue] = useState(user.priority);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const changed = value !== user.priority;
  useUnsaved(() => changed);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await change({ priority: value });
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section title={t('people.priority')}>
      {changed && <ChangedMeanwhile saving={busy} />}
      {error !== null && <ProblemNotice error={error} />}
      {manages ? (
        <div className="in-place">
          {changed && <s>{user.priority}</s>}
          <Select
            aria-label={t('people.priority')}
            value={value}
            onChange={setValue}
            style={{ width: 72 }}
            options={[5, 4, 3, 2, 1].map((one) => ({ value: one, label: one }))}
          />
          {changed && (
            <Button type="primary" onClick={save} disabled={busy}>
              {t('people.savePriority')}
            </Button>
          )}
        </div>
      ) : (
        <div className="in-place">{user.priority}</div>
      )}
      <p className="effect">{t('people.priorityHint')}</p>
    </Section>
  );
}
