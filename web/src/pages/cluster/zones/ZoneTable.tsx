import { useTranslation } from 'react-i18next';
import type { Zone } from '../../../api/models';
import { DataTable, WIDE } from '../../../components/DataTable';
import { StatusChip, type ChipState } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { useZoneWords } from '../zones';

interface Props {
  zones: Zone[] | undefined;
  /** A panel stands beside it. */
  narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
}

/** Where work runs, who drives each place and since when. */
export function ZoneTable({ zones, narrow, openId, onOpen }: Props) {
  const { t } = useTranslation();
  const { number, moment } = useFormat();
  const words = useZoneWords();
  return (
    <DataTable<Zone>
      label={t('zones.zones')}
      rows={zones}
      empty={null}
      openId={openId}
      onOpen={(zone) => onOpen(zone.id)}
      skeletonRows={2}
      columns={[
        {
          title: t('zones.zone'),
          width: narrow ? undefined : '18%',
          render: (_, zone) => <span className="strong">{zone.name}</span>,
        },
        { title: t('zones.state'), width: 132, render: (_, zone) => <ZoneState zone={zone} /> },
        {
          title: t('zones.kind'),
          width: 152,
          render: (_, zone) => <span className="text-2">{t(`zones.kindOf.${zone.kind}`)}</span>,
        },
        {
          title: t('zones.drivenBy'),
          width: narrow ? undefined : 152,
          render: (_, zone) => <span className="text-2">{zone.driven_by ?? t('zones.nobody')}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('zones.since'),
                width: 120,
                render: (_: unknown, zone: Zone) => (
                  <span className="text-2 nowrap">{zone.since === null ? '' : moment(zone.since)}</span>
                ),
              },
            ]),
        ...(narrow
          ? []
          : [
              {
                title: t('zones.simulates'),
                ellipsis: true,
                responsive: WIDE,
                render: (_: unknown, zone: Zone) => <span className="mono text-2">{zone.nodes ?? ''}</span>,
              },
            ]),
        { title: t('zones.nodes'), align: 'right', width: 84, render: (_, zone) => number(zone.nodes_count) },
        { title: t('zones.pools'), align: 'right', width: 84, render: (_, zone) => number(zone.pools_count) },
      ]}
      phoneRow={(zone) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{words(zone)}</span>
            <ZoneState zone={zone} />
          </div>
          <div className="small text-2">
            {zone.driven_by === null || zone.since === null
              ? t('zones.zoneStateLong.unreachable')
              : t('zones.drivenSince', { host: zone.driven_by, time: moment(zone.since) })}
          </div>
          <div className="small text-2">
            {[t('zones.itsNodes', { count: zone.nodes_count }), zone.nodes].filter(Boolean).join(' · ')}
          </div>
        </div>
      )}
    />
  );
}

const chips: Record<Zone['state'], ChipState> = { ready: 'active', starting: 'starting', unreachable: 'failed' };

export function ZoneState({ zone, soft }: { zone: Zone; soft?: boolean }) {
  const { t } = useTranslation();
  return <StatusChip state={chips[zone.state]} soft={soft} word={t(`zones.zoneState.${zone.state}`)} />;
}
