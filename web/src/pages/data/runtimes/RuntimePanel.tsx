import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import type { Runtime } from '../../../api/models';
import { Copyable } from '../../../components/Copy';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { LogLines } from '../../work/one/LogLines';
import { useLog } from '../../work/one/useLog';
import { workloadQuery } from '../../work/queries';
import { isWaiting } from '../../work/states';
import { useReasonWords } from '../../work/words';
import { chips, labelOf } from './words';

interface Props {
  runtime: Runtime;
  onClose: () => void;
  onChanged: () => void;
  onNext: () => void;
  onDelete: () => void;
}

/** One version: what is in it, how its build goes, what uses it. */
export function RuntimePanel({ runtime, onClose, onChanged, onNext, onDelete }: Props) {
  const { t } = useTranslation();
  const { moment, ago } = useFormat();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { state, workload_id: builder } = runtime;
  const build = async () => {
    setBusy(true);
    setError(null);
    try {
      await body(client.POST('/api/v1/runtimes/{runtime_id}/build', { params: { path: { runtime_id: runtime.id } } }));
      onChanged();
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <SidePanel
      title={labelOf(runtime)}
      subtitle={
        runtime.zone === null
          ? t('runtimes.made', { time: moment(runtime.created_at) })
          : t('runtimes.madeIn', { time: moment(runtime.created_at), zone: runtime.zone })
      }
      onClose={onClose}
    >
      {error !== null && <ProblemNotice error={error} />}
      <p>
        <StatusChip soft state={chips[state]} word={t(`runtimes.state.${state}`)} />
      </p>
      <div className="panel-actions" style={{ marginTop: 12 }}>
        {(state === 'defined' || state === 'failed') && (
          <Button type="primary" disabled={busy} onClick={() => void build()}>
            {state === 'failed' ? t('runtimes.buildAgain') : t('runtimes.build')}
          </Button>
        )}
        <Button onClick={onNext}>{t('runtimes.next')}</Button>
        {state !== 'building' && runtime.used_by.length === 0 && (
          <Button danger className="last" onClick={onDelete}>
            {t('runtimes.delete')}
          </Button>
        )}
      </div>
      {runtime.used_by.length > 0 && (
        <Section title={t('runtimes.usedBy')} note={t('runtimes.staysWhile')}>
          {runtime.used_by.map((one) => (
            <div key={one.id} className="row">
              <Link to={`/workloads/${one.id}` as '/'} search={{}} className="grow cut">
                {one.name}
              </Link>
            </div>
          ))}
        </Section>
      )}
      {builder && state !== 'ready' && state !== 'defined' && <Build builder={builder} />}
      {state === 'ready' && (
        <Section title={t('runtimes.inWork')}>
          <Copyable text={`corral run --runtime ${labelOf(runtime)} train.py`} />
        </Section>
      )}
      <Section title={t('runtimes.packages')} note={t('runtimes.lastUsedAt', { time: ago(runtime.used_at) })}>
        <pre className="command">{runtime.requirements.join('\n') || t('runtimes.nothingMore')}</pre>
      </Section>
      {builder && state === 'ready' && (
        <p className="small">
          <Link to={`/workloads/${builder}` as '/'} search={{ tab: 'log' }}>
            {t('runtimes.buildLog')}
          </Link>
        </p>
      )}
    </SidePanel>
  );
}

/** How the build goes: its state, why it waits or failed, and what it writes. */
function Build({ builder }: { builder: string }) {
  const { t } = useTranslation();
  const reason = useReasonWords();
  const { data: work } = useQuery(workloadQuery(builder));
  const log = useLog(builder, work?.attempt || undefined, 0);
  return (
    <Section
      title={t('runtimes.progress')}
      aside={
        <Link to={`/workloads/${builder}` as '/'} search={{}}>
          {t('runtimes.openBuild')}
        </Link>
      }
    >
      {work && (
        <p className="build-state">
          <StatusChip state={work.state} />{' '}
          {isWaiting(work.state) && work.reason.why === 'submitted' ? null : (
            <span className="small text-2">{reason(work.reason)}</span>
          )}
        </p>
      )}
      <div className="build-log">
        <div className="log">
          {log.state.lines.length > 0 ? (
            <LogLines lines={log.state.lines} status={log.status} />
          ) : (
            <p className="small text-2">{t('runtimes.nothingYet')}</p>
          )}
        </div>
      </div>
    </Section>
  );
}
