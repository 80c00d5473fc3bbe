import { Link } from '@tanstack/react-router';
import type { TableProps } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Workload } from '../../../api/models';
import { DataTable } from '../../../components/DataTable';
import { OtherKindIcon } from '../../../components/icons';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { plugOf } from '../../../kinds';
import { useTight } from '../../../theme/preferences';
import { useZones } from '../../cluster/zones';
import { secondsBetween, useNow } from '../now';
import { isExplained, isWaiting } from '../states';
import { useVerdictWords } from '../verdict-words';
import { useKindWords, useNeedsWords, useReasonWords } from '../words';

interface Props {
  label: string;
  rows: Workload[] | undefined;
  chosen: readonly string[];
  onChoose: (ids: readonly string[]) => void;
  onOpen: (id: string) => void;
  empty: ReactNode;
  more: { load: () => void; loading: boolean } | undefined;
}

export function WorkloadTable({ label, rows, chosen, onChoose, onOpen, empty, more }: Props) {
  const { t } = useTranslation();
  const needs = useNeedsWords();
  const reason = useRowReason();
  const { several } = useZones();
  // On a small laptop the reason keeps its room: the owner stands below the name, the place where no reason is.
  const tight = useTight();
  const columns: TableProps<Workload>['columns'] = [
    { title: t('work.column.state'), key: 'state', width: 116, render: (_, row) => <StatusChip state={row.state} /> },
    {
      title: t('work.column.name'),
      key: 'name',
      width: tight ? '22%' : '18%',
      render: (_, row) => <Name row={row} withOwner={tight} />,
    },
    ...(tight
      ? []
      : [
          {
            title: t('work.column.owner'),
            key: 'owner',
            width: '14%',
            render: (_: unknown, row: Workload) => <Lines first={row.user.name} second={row.organisation.name} />,
          },
        ]),
    {
      title: t('work.column.needs'),
      key: 'needs',
      width: tight ? '17%' : '15%',
      render: (_, row) => <Lines {...needs(row)} />,
    },
    ...(tight
      ? []
      : [
          {
            title: t('work.column.where'),
            key: 'where',
            width: several ? '14%' : '10%',
            ellipsis: true,
            render: (_: unknown, row: Workload) => <Where row={row} />,
          },
        ]),
    {
      title: t(tight ? 'work.column.whereOrReason' : 'work.column.reason'),
      key: 'reason',
      render: (_, row) => (tight && !reason(row) ? <Where row={row} /> : <Why row={row} reason={reason(row)} />),
    },
    {
      title: t('work.column.since'),
      key: 'since',
      align: 'right',
      width: tight ? 92 : 104,
      render: (_, row) => <Since row={row} />,
    },
  ];
  return (
    <DataTable<Workload>
      label={label}
      rows={rows}
      columns={columns}
      onOpen={(row) => onOpen(row.id)}
      selection={{
        selectedRowKeys: [...chosen],
        onChange: (keys) => onChoose(keys.map(String)),
        columnWidth: 32,
        getCheckboxProps: (row) => ({ 'aria-label': t('work.choose', { name: row.name }) }),
        getTitleCheckboxProps: () => ({ 'aria-label': t('work.chooseAll') }),
      }}
      empty={empty}
      more={more}
      skeletonRows={10}
      phoneRow={(row) => (
        <div className="phone-work">
          <div className="strong cut">{row.name}</div>
          <StatusChip state={row.state} />
          <div className="small text-2">
            {[
              needs(row).first,
              ...(several ? [row.zone_name] : []),
              ...row.nodes,
              ...(row.simulated ? [t('work.simulated')] : []),
            ].join(' · ')}
          </div>
          <div className="small text-2">
            <Since row={row} />
          </div>
          <div className="small text-2 wide">{reason(row)}</div>
        </div>
      )}
    />
  );
}

function Name({ row, withOwner }: { row: Workload; withOwner: boolean }) {
  const { t } = useTranslation();
  const kind = useKindWords();
  const KindIcon = plugOf(row.kind)?.icon ?? OtherKindIcon;
  return (
    <span className="lines">
      <Link to={`/workloads/${row.id}` as '/'} search={{}} className="cut strong name-link">
        {row.name}
      </Link>
      <span className="small text-3 cut kind-line">
        <KindIcon size={12} />
        {withOwner ? `${kind(row.kind)}${t('work.comma')}${row.user.name}` : kind(row.kind)}
      </span>
    </span>
  );
}

/** The reason; work that does not run leads to the page that explains it. */
function Why({ row, reason }: { row: Workload; reason: string }) {
  const { t } = useTranslation();
  const explained = isExplained(row);
  return (
    <span className="why-cell text-2">
      <span className="few-lines" title={reason}>
        {reason}
      </span>
      {explained && (
        <Link to={`/workloads/${row.id}` as '/'} search={{}} aria-label={`${t('work.why')} ${row.name}`}>
          {t('work.why')}
        </Link>
      )}
    </span>
  );
}

function Where({ row }: { row: Workload }) {
  const { t } = useTranslation();
  const { several } = useZones();
  const below = [several && row.zone_name, row.simulated && t('work.simulated')].filter(Boolean).join(t('work.comma'));
  const nodes = row.nodes.join(', ');
  return <Lines first={nodes || below} second={nodes ? below : null} />;
}

function Lines({ first, second }: { first: string; second: string | null }) {
  return (
    <span className="lines">
      <span className="cut">{first}</span>
      {second && <span className="small text-3 cut">{second}</span>}
    </span>
  );
}

/** How long it is in its state, or when it ended. */
function Since({ row }: { row: Workload }) {
  const { ago, duration, moment } = useFormat();
  const now = useNow();
  const since = row.ended_at ?? row.waiting_since ?? row.started_at ?? row.created_at;
  return (
    <span className="text-2 nowrap" title={moment(since)}>
      {row.ended_at ? ago(row.ended_at) : duration(secondsBetween(since, now))}
    </span>
  );
}

const asUsual = ['submitted', 'asked_to_resume'];

/** Only what the state alone does not say; of work that waits, why it has no place yet. */
function useRowReason(): (row: Workload) => string {
  const { sentences } = useFormat();
  const words = useReasonWords();
  const verdictWords = useVerdictWords();
  return (row) => {
    if (['running', 'starting', 'succeeded'].includes(row.state)) return '';
    return sentences([
      !(isWaiting(row.state) && asUsual.includes(row.reason.why)) && words(row.reason),
      row.waits && verdictWords.waiting(row.waits),
    ]);
  };
}
