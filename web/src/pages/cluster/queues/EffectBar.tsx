import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { QueueEffect } from '../../../api/models';
import { CheckIcon, WarningIcon } from '../../../components/icons';
import { useProblemText } from '../../../components/problem-text';
import { useAmounts } from '../amounts';
import { asChanges, countOf, type Drafts, type View } from './drafts';
import type { QueueVerdict } from './useVerdict';
import { useWarningWords } from './warning-words';

/** More than so many are counted instead of named. */
const NAMED = 3;
const MOST_SHARES = 8;

/** What the changes would do: whether they validate, what is over-committed then; saves all or nothing. */
export function EffectBar({
  drafts,
  verdict,
  view,
  onDiscard,
  onSaved,
}: {
  drafts: Drafts;
  verdict: QueueVerdict;
  view: View;
  onDiscard: () => void;
  onSaved: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const problem = useProblemText();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const { data, error, old } = verdict;
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
      <div className="effect-words" aria-live="polite" style={old ? { opacity: 0.6 } : undefined}>
        <span className="strong">{t('queues.ifSaved', { count })}</span>
        {trouble ? (
          <Verdict tone="red" text={problem(trouble).text || problem(trouble).title} />
        ) : (
          data && <Promises warnings={data.warnings} />
        )}
        {!trouble && data && <Shares effects={data.effects} view={view} />}
      </div>
      <Button type="text" onClick={onDiscard}>
        {t('queues.discard')}
      </Button>
      <Button type="primary" disabled={busy || Boolean(error)} onClick={() => void save()}>
        {t('queues.save', { count })}
      </Button>
    </div>
  );
}

/** Who may hold more, and who holds more than is theirs then: that is what others may take back. */
function Shares({ effects, view }: { effects: readonly QueueEffect[]; view: View }) {
  const { t } = useTranslation();
  const { plain, told } = useAmounts();
  const here = effects.filter((one) => one.pool_id === view.pool && one.resource === view.resource);
  if (here.length === 0) return <p className="effect-shares small text-2">{t('queues.sharesStay')}</p>;
  const shown = here.slice(0, MOST_SHARES);
  const words = ({ used, fair_before, fair_after }: QueueEffect) => {
    const moves = t('queues.shareMoves', {
      from: plain(fair_before, view.resource),
      to: plain(fair_after, view.resource),
    });
    if (used > fair_after)
      return `${moves}${t('queues.semicolon')}${t('queues.gives', { amount: told(used - fair_after, view.resource) })}`;
    return moves;
  };
  return (
    <dl className="effect-shares">
      {shown.map((one) => (
        <div key={one.queue_id}>
          <dt className="strong cut">{one.queue_name}</dt>
          <dd className="small text-2">{words(one)}</dd>
        </div>
      ))}
      {here.length > shown.length && (
        <div className="small text-2">{t('queues.moreOver', { count: here.length - shown.length })}</div>
      )}
    </dl>
  );
}

function Promises({ warnings }: { warnings: Parameters<ReturnType<typeof useWarningWords>>[0][] }) {
  const { t } = useTranslation();
  const words = useWarningWords();
  if (warnings.length === 0) return <Verdict tone="green" text={t('queues.nothingOver')} />;
  return (
    <>
      {warnings.slice(0, NAMED).map((warning) => (
        <Verdict
          key={`${warning.queue_id} ${warning.pool_id} ${warning.resource} ${warning.kind}`}
          tone="amber"
          text={words(warning)}
        />
      ))}
      {warnings.length > NAMED && (
        <span className="small text-2">{t('queues.moreOver', { count: warnings.length - NAMED })}</span>
      )}
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
