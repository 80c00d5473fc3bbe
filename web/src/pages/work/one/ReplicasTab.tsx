import { useTranslation } from 'react-i18next';
import type { TableProps } from 'antd';
import type { WorkloadDetail } from '../../../api/models';
import { DataTable } from '../../../components/DataTable';
import { Section } from '../../../components/Page';
import { StatusChip, type ChipState } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { secondsBetween, useNow } from '../now';
import { useSize } from '../amounts';
import { useReasonWords } from '../words';

type Attempt = WorkloadDetail['attempts'][number];
type Replica = Attempt['replicas'][number] & { id: string };

/** Every attempt, the newest first, with where its replicas were and how they ended. */
export function ReplicasTab({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const words = useReasonWords();
  if (work.attempts.length === 0) return <p className="teach text-2">{t('work.replica.none')}</p>;
  const span = ({ opened_at, closed_at }: Attempt) =>
    closed_at
      ? t('work.replica.span', { from: moment(opened_at), to: moment(closed_at) })
      : t('work.replica.from', { from: moment(opened_at) });
  return (
    <>
      {work.attempts.toReversed().map((attempt) => (
        <Section key={attempt.number} title={t('work.attemptNumber', { number: attempt.number })} note={span(attempt)}>
          {attempt.reason && <p className="text-2 attempt-reason">{words(attempt.reason)}</p>}
          <Replicas attempt={attempt} running={work.state === 'running'} />
        </Section>
      ))}
    </>
  );
}

const chips: Record<string, ChipState> = {
  succeeded: 'succeeded',
  failed: 'failed',
  left: 'stopped',
  refused: 'failed',
  lost: 'failed',
};

function Replicas({ attempt, running }: { attempt: Attempt; running: boolean }) {
  const { t } = useTranslation();
  const size = useSize();
  const { duration, moment } = useFormat();
  const now = useNow();
  const devices = ({ devices: held }: Replica) =>
    held.length === 0
      ? t('work.replica.noDevice')
      : held
          .map((one) =>
            one.memory_mib
              ? t('work.replica.slice', { device: one.device, size: size(one.memory_mib) })
              : t('work.replica.whole', { device: one.device }),
          )
          .join(t('work.comma'));
  const phase = (row: Replica) => (running && row.phase === 'running' && !row.ready_at ? 'unready' : row.phase);
  const state = (row: Replica) =>
    row.end ? (
      <StatusChip state={chips[row.end] ?? 'stopped'} word={t(`work.replica.ended.${row.end as 'succeeded'}`)} />
    ) : (
      <span title={row.ready_at ? t('work.fact.readySince', { moment: moment(row.ready_at) }) : undefined}>
        <StatusChip
          state={phase(row) === 'running' ? 'running' : 'starting'}
          word={t(`work.replica.phase.${phase(row) as 'running'}`)}
        />
      </span>
    );
  const end = (row: Replica) =>
    row.signal !== null
      ? t('work.replica.signal', { signal: row.signal })
      : row.exit_code !== null
        ? t('work.replica.code', { code: row.exit_code })
        : '';
  const ran = (row: Replica) => (row.started_at ? duration(secondsBetween(row.started_at, row.ended_at ?? now)) : '');
  const columns: TableProps<Replica>['columns'] = [
    { title: t('work.replica.number'), key: 'number', width: 80, render: (_, row) => row.number },
    { title: t('work.replica.state'), key: 'state', width: 132, render: (_, row) => state(row) },
    { title: t('work.replica.node'), key: 'node', width: '16%', ellipsis: true, render: (_, row) => row.node },
    {
      title: t('work.replica.devices'),
      key: 'devices',
      width: '22%',
      ellipsis: true,
      render: (_, row) => <span className="text-2">{devices(row)}</span>,
    },
    {
      title: t('work.replica.end'),
      key: 'end',
      ellipsis: true,
      render: (_, row) => (
        <span className="text-2" title={row.detail}>
          {end(row)}
        </span>
      ),
    },
    {
      title: t('work.replica.ran'),
      key: 'ran',
      align: 'right',
      width: 96,
      render: (_, row) => <span className="text-2">{ran(row)}</span>,
    },
  ];
  const rows = attempt.replicas.map((one) => ({ ...one, id: `${attempt.number}-${one.number}` }));
  return (
    <DataTable<Replica>
      label={t('work.attemptNumber', { number: attempt.number })}
      rows={rows}
      columns={columns}
      empty={null}
      phoneRow={(row) => (
        <div className="phone-work">
          <div className="strong">{t('work.log.replicaNumber', { number: row.number })}</div>
          {state(row)}
          <div className="small text-2">{[row.node, devices(row)].join(' · ')}</div>
          <div className="small text-2">{ran(row)}</div>
          {end(row) && <div className="small text-2 wide">{end(row)}</div>}
        </div>
      )}
    />
  );
}
