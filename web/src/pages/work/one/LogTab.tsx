import { Button, Input, Select } from 'antd';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { SearchIcon } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { isOver } from '../states';
import { LogLines } from './LogLines';
import { useLog, type Log } from './useLog';

/** What a replica writes, as it writes it. */
export function LogTab({ work }: { work: WorkloadDetail }) {
  const [url] = useUrlState();
  const attempt = Number(url.attempt) || work.attempt || undefined;
  const replica = Number(url.replica) || 0;
  return <LogView key={`${attempt}-${replica}`} work={work} attempt={attempt} replica={replica} />;
}

function LogView({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const log = useLog(work.id, attempt, replica);
  const [search, setSearch] = useState('');
  const { lines } = log.state;
  const wanted = search.trim().toLowerCase();
  const found = useMemo(
    () => (wanted ? lines.filter((line) => line.kind === 'text' && line.text.toLowerCase().includes(wanted)) : lines),
    [lines, wanted],
  );
  return (
    <div className="log">
      <div className="log-bar">
        <Choosers work={work} attempt={attempt} replica={replica} />
        <Input
          className="find"
          allowClear
          prefix={<SearchIcon />}
          aria-label={t('work.log.search', { number: number(lines.length) })}
          placeholder={t('work.log.search', { number: number(lines.length) })}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        {wanted && (
          <span className="small text-2" role="status">
            {t('work.log.found', { count: found.length })}
          </span>
        )}
        <span style={{ flex: 1 }} />
        <Download work={work} attempt={attempt} replica={replica} />
      </div>
      {log.status === 'lost' && (
        <p className="small danger" role="alert">
          {t('work.log.lost')}
        </p>
      )}
      {lines.length === 0 ? (
        <Silence work={work} log={log} />
      ) : (
        <LogLines lines={found} status={log.status} wanted={wanted} />
      )}
    </div>
  );
}

function Choosers({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  const [, change] = useUrlState();
  return (
    <>
      {work.attempts.length > 1 && (
        <Select
          aria-label={t('work.log.attempt')}
          value={attempt}
          popupMatchSelectWidth={false}
          onChange={(value: number) => change({ attempt: value === work.attempt ? undefined : String(value) })}
          options={work.attempts
            .toReversed()
            .map(({ number }) => ({ value: number, label: t('work.attemptNumber', { number }) }))}
        />
      )}
      {work.replicas > 1 && (
        <Select
          aria-label={t('work.log.replica')}
          value={replica}
          popupMatchSelectWidth={false}
          onChange={(value: number) => change({ replica: value === 0 ? undefined : String(value) })}
          options={Array.from({ length: work.replicas }, (_, number) => ({
            value: number,
            label: t('work.log.replicaNumber', { number }),
          }))}
        />
      )}
    </>
  );
}

function Download({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  if (attempt === undefined) return null;
  const query = new URLSearchParams({ attempt: String(attempt), replica: String(replica) });
  return (
    <Button href={`/api/v1/workloads/${work.id}/logs/download?${query.toString()}`} download>
      {t('work.log.download')}
    </Button>
  );
}

/** Why there is nothing to see. */
function Silence({ work, log }: { work: WorkloadDetail; log: Log }) {
  const { t } = useTranslation();
  if (log.status === 'reading') return null;
  return (
    <p className="teach text-2">
      {log.status === 'ended' || isOver(work.state)
        ? t('work.log.nothing')
        : work.attempt === 0
          ? t('work.log.beforeStart')
          : t('work.log.none')}
    </p>
  );
}
