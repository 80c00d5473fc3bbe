import { useTranslation } from 'react-i18next';
import type { Pool } from '../../../api/models';
import { DataTable, WIDE } from '../../../components/DataTable';
import { EmptyState } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useAmounts } from '../amounts';
import { usePoolWords } from '../zones';

export function PoolTable({
  pools,
  withZone,
  alone,
  narrow,
  openId,
  onOpen,
}: {
  pools: Pool[] | undefined;
  /** They are of several zones. */ withZone: boolean;
  /** There is one zone only. */ alone: boolean;
  narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
}) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const { plain, gib } = useAmounts();
  const name = usePoolWords(withZone);
  const labels = (pool: Pool) =>
    Object.entries(pool.labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(t('people.comma')) || t('zones.allLeft');
  return (
    <>
      <DataTable<Pool>
        label={t('zones.pools')}
        rows={pools}
        empty={null}
        openId={openId}
        onOpen={(pool) => onOpen(pool.id)}
        columns={[
          {
            title: withZone ? t('zones.zoneAndPool') : t('zones.pool'),
            width: '20%',
            render: (_, pool) => <span className="strong">{name(pool.zone_name, pool.name)}</span>,
          },
          {
            title: t('zones.labels'),
            ellipsis: true,
            render: (_, pool) => <span className="text-2">{labels(pool)}</span>,
          },
          {
            title: t('zones.arrangement'),
            width: 120,
            render: (_, pool) => <span className="text-2">{t(`zones.arranged.${pool.arrangement}`)}</span>,
          },
          ...(narrow
            ? []
            : [
                {
                  title: t('zones.leastStrength'),
                  width: 132,
                  responsive: WIDE,
                  render: (_: unknown, pool: Pool) => (
                    <span className="text-2">{t(`zones.strength.${pool.least_strength}`)}</span>
                  ),
                },
              ]),
          { title: t('zones.nodes'), align: 'right', width: 84, render: (_, pool) => number(pool.nodes_count) },
          {
            title: t('zones.gpus'),
            align: 'right',
            width: 84,
            render: (_, pool) => plain(pool.capacity.gpu_milli, 'gpu_milli'),
          },
          ...(narrow
            ? []
            : [
                {
                  title: t('zones.cpus'),
                  align: 'right' as const,
                  width: 84,
                  responsive: WIDE,
                  render: (_: unknown, pool: Pool) => plain(pool.capacity.cpu_milli, 'cpu_milli'),
                },
                {
                  title: t('zones.memory'),
                  align: 'right' as const,
                  width: 108,
                  render: (_: unknown, pool: Pool) => <span className="nowrap">{gib(pool.capacity.memory_mib)}</span>,
                },
              ]),
        ]}
        phoneRow={(pool) => (
          <div style={{ textAlign: 'left' }}>
            <div className="strong">{name(pool.zone_name, pool.name)}</div>
            <div className="small text-2">{labels(pool)}</div>
            <div className="small text-2">
              {t('zones.poolSizes', { count: pool.nodes_count, gpus: plain(pool.capacity.gpu_milli, 'gpu_milli') })}
            </div>
          </div>
        )}
      />
      {alone && pools?.length === 1 && (
        <EmptyState
          title={t('zones.onePool')}
          text={t('zones.onePoolText')}
          command="corral pool create dgx --label gpu=h100"
        />
      )}
    </>
  );
}
