import { useTranslation } from 'react-i18next';
import type { Host, Zone } from '../../../api/models';
import { DataTable, WIDE } from '../../../components/DataTable';
import { StatusChip, type ChipState } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';

interface Props {
  hosts: Host[] | undefined;
  drives: (host: Host) => Zone[];
  /** A panel stands beside it. */
  narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
}

/** Where Corral runs, where other hosts reach each, and what each drives. */
export function HostTable({ hosts, drives, narrow, openId, onOpen }: Props) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const driven = (host: Host) =>
    drives(host)
      .map((zone) => zone.name)
      .join(t('people.comma')) || t('hosts.nothing');
  return (
    <DataTable<Host>
      label={t('menu.hosts')}
      rows={hosts}
      empty={null}
      openId={openId}
      onOpen={(host) => onOpen(host.id)}
      skeletonRows={2}
      columns={[
        {
          title: t('hosts.host'),
          width: narrow ? undefined : '20%',
          render: (_, host) => <span className="strong">{host.name}</span>,
        },
        { title: t('hosts.state'), width: 132, render: (_, host) => <HostState host={host} /> },
        {
          title: t('hosts.drives'),
          ellipsis: true,
          render: (_, host) => <span className="text-2">{driven(host)}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('hosts.address'),
                ellipsis: true,
                render: (_: unknown, host: Host) => (
                  <span className="mono text-2">{host.url || t('hosts.noAddress')}</span>
                ),
              },
              {
                title: t('hosts.since'),
                width: 132,
                render: (_: unknown, host: Host) => <span className="text-2 nowrap">{moment(host.started_at)}</span>,
              },
              {
                title: t('hosts.seen'),
                width: 132,
                responsive: WIDE,
                render: (_: unknown, host: Host) => <span className="text-2 nowrap">{moment(host.seen_at)}</span>,
              },
              {
                title: t('hosts.version'),
                width: 100,
                responsive: WIDE,
                render: (_: unknown, host: Host) => <span className="text-2">{host.version}</span>,
              },
            ]),
      ]}
      phoneRow={(host) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{host.name}</span>
            <HostState host={host} />
          </div>
          <div className="small text-2">{t('hosts.drivesZones', { names: driven(host) })}</div>
          <div className="small text-2">
            {host.state === 'up'
              ? t('hosts.upSince', { time: moment(host.started_at) })
              : t('hosts.lastSeen', { time: moment(host.seen_at) })}
          </div>
        </div>
      )}
    />
  );
}

const chips: Record<Host['state'], ChipState> = { up: 'active', silent: 'failed' };

export function HostState({ host, soft }: { host: Host; soft?: boolean }) {
  const { t } = useTranslation();
  return <StatusChip state={chips[host.state]} soft={soft} word={t(`hosts.stateOf.${host.state}`)} />;
}
