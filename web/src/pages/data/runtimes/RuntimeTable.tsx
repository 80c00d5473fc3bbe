import { useTranslation } from 'react-i18next';
import type { Runtime } from '../../../api/models';
import { DataTable } from '../../../components/DataTable';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { chips, labelOf } from './words';

interface Props {
  rows: Runtime[] | undefined;
  openId: string | null;
  /** A panel stands beside it. */
  narrow: boolean;
  onOpen: (id: string) => void;
}

export function RuntimeTable({ rows, openId, narrow, onOpen }: Props) {
  const { t } = useTranslation();
  const { ago } = useFormat();
  const state = (runtime: Runtime) => (
    <StatusChip state={chips[runtime.state]} word={t(`runtimes.state.${runtime.state}`)} />
  );
  const packages = (runtime: Runtime) => runtime.requirements.join(t('people.comma')) || t('runtimes.nothingMore');
  const users = (runtime: Runtime) => runtime.used_by.map((one) => one.name).join(t('people.comma'));
  return (
    <DataTable<Runtime>
      label={t('menu.runtimes')}
      rows={rows}
      skeletonRows={4}
      openId={openId}
      onOpen={(runtime) => onOpen(runtime.id)}
      // Those that can be made by their name follow, which teach enough.
      empty={null}
      columns={[
        {
          title: t('runtimes.runtime'),
          width: narrow ? '34%' : '20%',
          ellipsis: true,
          render: (_, runtime) => <span className="strong">{labelOf(runtime)}</span>,
        },
        { title: t('runtimes.stateColumn'), width: 124, render: (_, runtime) => state(runtime) },
        {
          title: t('runtimes.packages'),
          ellipsis: true,
          render: (_, runtime) => (
            <span className="text-2" title={packages(runtime)}>
              {packages(runtime)}
            </span>
          ),
        },
        ...(narrow
          ? []
          : [
              {
                title: t('runtimes.usedBy'),
                width: '20%',
                ellipsis: true,
                render: (_: unknown, runtime: Runtime) => (
                  <span className="text-2" title={users(runtime)}>
                    {users(runtime)}
                  </span>
                ),
              },
              {
                title: t('runtimes.lastUsed'),
                width: 120,
                align: 'right' as const,
                render: (_: unknown, runtime: Runtime) => <span className="text-2 nowrap">{ago(runtime.used_at)}</span>,
              },
            ]),
      ]}
      phoneRow={(runtime) => (
        <div className="phone-work">
          <div className="strong cut">{labelOf(runtime)}</div>
          {state(runtime)}
          <div className="small text-2 wide cut">{packages(runtime)}</div>
          {runtime.used_by.length > 0 && (
            <div className="small text-2 wide">{t('runtimes.usedByNames', { names: users(runtime) })}</div>
          )}
        </div>
      )}
    />
  );
}
