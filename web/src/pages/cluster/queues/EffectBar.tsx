import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import { CheckIcon, WarningIcon } from '../../../components/icons';
import { useProblemText } from '../../../components/problem-text';
import { asChanges, countOf, type Drafts } from './drafts';
import { useWarningWords } from './warning-words';

const TYPING_MS = 250;
/** More than so many are counted instead of named. */
const NAMED = 3;

/** What the changes would do: whether they validate, what is over-committed then; saves all or nothing. */
export function EffectBar({ drafts, onDiscard, onSaved }: { drafts: Drafts; onDiscard: () => void; onSaved: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const problem = useProblemText();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const asked = useSettled(drafts);
  const { data, error } = useQuery({
    queryKey: [...keys.queueVerdict, asChanges(asked)],
    queryFn: () => body(client.POST('/api/v1/queues/changes', { body: { changes: asChanges(asked), dry_run: true } })),
    // The last verdict stays until the next one comes.
    placeholderData: (before) => before,
    retry: false,
  });
  const trouble = refused ?? error;
  const save = async () => {
    setBusy(true);
    setRefused(null);
    try {
      await body(client.POST('/api/v1/queues/changes', { body: { changes: asChanges(drafts), dry_run: false } }));
      await queries.invalidateQueries({ queryKey: keys.queues });
      onSaved();
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setRefused(reason);
    } finally {
      setBusy(false);
    }
  };
  const count = countOf(drafts);
  return (
    <div className="effect-bar">
      <div className="effect-words" aria-live="polite" style={asked === drafts ? undefined : { opacity: 0.6 }}>
        <span className="strong">{t('queues.ifSaved', { count })}</span>
        {trouble ? <Verdict tone="red" text={problem(trouble).text || problem(trouble).title} /> : data && <Promises warnings={data.warnings} />}
      </div>
      <Button type="text" onClick={onDiscard}>{t('queues.discard')}</Button>
      <Button type="primary" disabled={busy || Boolean(error)} onClick={() => void save()}>{t('queues.save', { count })}</Button>
    </div>
  );
}

function Promises({ warnings }: { warnings: Parameters<ReturnType<typeof useWarningWords>>[0][] }) {
  const { t } = useTranslation();
  const words = useWarningWords();
  if (warnings.length === 0) return <Verdict tone="green" text={t('queues.nothingOver')} />;
  return (
    <>
      {warnings.slice(0, NAMED).map((warning) => (
        <Verdict key={`${warning.queue_id} ${warning.pool_id} ${warning.resource} ${warning.kind}`} tone="amber" text={words(warning)} />
      ))}
      {warnings.length > NAMED && <span className="small text-2">{t('queues.moreOver', { count: warnings.length - NAMED })}</span>}
    </>
  );
}

function Verdict({ tone, text }: { tone: 'green' | 'amber' | 'red'; text: string }) {
  return (
    <span className={`verdict ${tone}`}>
      {tone === 'green' ? <CheckIcon /> : <WarningIcon />}
      {text}
    </span>
  );
}

/** The value once it has rested. */
function useSettled(value: Drafts): Drafts {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
