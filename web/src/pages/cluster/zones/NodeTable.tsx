import { useTranslation } from 'react-i18next';
import type { ClusterNode } from '../../../api/models';
import { DataTable, WIDE } from '../../../components/DataTable';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { useAmounts } from '../amounts';
import { usePoolWords } from '../zones';
import { useDeviceWords } from './device-words';

interface Props {
  nodes: ClusterNode[] | undefined;
  /** They are of several zones. */
  withZone: boolean;
  /** A panel stands beside it. */
  narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
  empty: React.ReactNode;
}

export function NodeTable({ nodes, withZone, narrow, openId, onOpen, empty }: Props) {
  const { t } = useTranslation();
  const { plain, gib } = useAmounts();
  const { ago } = useFormat();
  const models = useDeviceWords();
  const pool = usePoolWords(withZone);
  return (
    <DataTable<ClusterNode>
      label={t('zones.nodes')}
      rows={nodes}
      empty={empty}
      openId={openId}
      onOpen={(node) => onOpen(node.id)}
      columns={[
        { title: t('zones.node'), render: (_, node) => <span className="strong">{node.name}</span> },
        { title: t('zones.state'), width: 132, render: (_, node) => <NodeState node={node} /> },
        {
          title: withZone ? t('zones.zoneAndPool') : t('zones.pool'),
          width: withZone ? 148 : 120,
          render: (_, node) => <span className="text-2">{pool(node.zone_name, node.pool_name)}</span>,
        },
        {
          title: t('zones.gpus'),
          width: narrow ? undefined : 240,
          render: (_, node) => <span className="text-2">{models(node.devices)}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('zones.cpus'),
                align: 'right' as const,
                width: 84,
                render: (_: unknown, node: ClusterNode) => plain(node.cpu_milli, 'cpu_milli'),
              },
              {
                title: t('zones.memory'),
                align: 'right' as const,
                width: 108,
                render: (_: unknown, node: ClusterNode) => <span className="nowrap">{gib(node.memory_mib)}</span>,
              },
              {
                title: t('zones.disk'),
                align: 'right' as const,
                width: 108,
                responsive: WIDE,
                render: (_: unknown, node: ClusterNode) => (
                  <span className="nowrap">{node.disk_mib === null ? '' : gib(node.disk_mib)}</span>
                ),
              },
              {
                title: t('zones.seen'),
                align: 'right' as const,
                width: 108,
                responsive: withZone ? WIDE : undefined,
                render: (_: unknown, node: ClusterNode) => (
                  <span className="text-2 nowrap">{node.seen_at === null ? '' : ago(node.seen_at)}</span>
                ),
              },
            ]),
      ]}
      phoneRow={(node) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{node.name}</span>
            <NodeState node={node} />
          </div>
          <div className="small text-2">{models(node.devices) || t('zones.noGpu')}</div>
          <div className="small text-2">
            {t('zones.sizes', {
              cpus: plain(node.cpu_milli, 'cpu_milli'),
              memory: gib(node.memory_mib),
              pool: pool(node.zone_name, node.pool_name),
            })}
          </div>
        </div>
      )}
    />
  );
}

export function NodeState({ node, soft }: { node: ClusterNode; soft?: boolean }) {
  const { t } = useTranslation();
  if (node.state === 'lost') return <StatusChip state="failed" soft={soft} word={t('zones.stateLost')} />;
  if (node.cordoned) return <StatusChip state="disabled" soft={soft} word={t('zones.stateCordoned')} />;
  return <StatusChip state="active" soft={soft} word={t('zones.stateReady')} />;
}
