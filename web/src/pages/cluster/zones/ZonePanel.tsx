import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Zone } from '../../../api/models';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { useFormat } from '../../../i18n/format';
import { ZoneState } from './ZoneTable';

/** One zone: whether work starts there, who drives it, and what is behind it. */
export function ZonePanel({ zone, onClose, onDelete }: { zone: Zone; onClose: () => void; onDelete: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const { moment } = useFormat();
  const facts: [string, ReactNode][] = [
    [t('zones.kind'), t(`zones.kindOf.${zone.kind}`)],
    [
      t('zones.drivenBy'),
      zone.since === null
        ? t('zones.nobody')
        : t('zones.drivenSince', { host: zone.driven_by ?? t('zones.nobody'), time: moment(zone.since) }),
    ],
    ...(zone.nodes === null
      ? []
      : ([
          [
            t('zones.simulates'),
            <span key="nodes" className="mono">
              {zone.nodes}
            </span>,
          ],
        ] as [string, ReactNode][])),
    [
      t('zones.nodes'),
      <Link key="nodes" to="." search={{ tab: 'nodes', zone: zone.id }}>
        {t('zones.itsNodes', { count: zone.nodes_count })}
      </Link>,
    ],
    [
      t('zones.pools'),
      <Link key="pools" to="." search={{ tab: 'pools', zone: zone.id }}>
        {t('zones.itsPools', { count: zone.pools_count })}
      </Link>,
    ],
    ...(zone.identity === null || zone.simulated
      ? []
      : ([
          [
            t('zones.identity'),
            <abbr key="identity" className="mono" title={t('zones.identityHint')}>
              {zone.identity}
            </abbr>,
          ],
        ] as [string, ReactNode][])),
    [
      t('zones.id'),
      <span key="id" className="mono">
        {zone.id}
      </span>,
    ],
    [t('zones.created'), moment(zone.created_at)],
  ];
  return (
    <SidePanel title={zone.name} subtitle={t(`zones.kindOf.${zone.kind}`)} onClose={onClose}>
      <p>
        <ZoneState zone={zone} soft />
      </p>
      <p className="effect">{t(`zones.zoneStateLong.${zone.state}`)}</p>
      {zone.simulated && <p className="effect">{t('zones.simulatedZoneNote')}</p>}
      <Section
        title={t('zones.has')}
        aside={<AsCommand size="small" cli={`corral zone show ${zone.id}`} api={`GET /api/v1/zones/${zone.id}`} />}
      >
        <dl className="facts">
          {facts.map(([title, value]) => (
            <Fragment key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
        </dl>
      </Section>
      {may('zones.manage') &&
        (zone.simulated ? (
          <div className="panel-actions">
            <Button danger onClick={onDelete}>
              {t('zones.deleteZone')}
            </Button>
          </div>
        ) : (
          <p className="effect">{t('zones.machineStays')}</p>
        ))}
      {may('audit.read') && (
        <p className="small">
          <Link to="/audit" search={{ object: zone.id, name: zone.name }}>
            {t('people.history')}
          </Link>
        </p>
      )}
    </SidePanel>
  );
}
