import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { Fragment, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Host, Zone } from '../../../api/models';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { useFormat } from '../../../i18n/format';
import { HostState } from './HostTable';

interface Props {
  host: Host;
  /** Those that it drives. */
  zones: Zone[];
  onClose: () => void;
  onDelete: () => void;
}

/** One host: whether its Corral runs, where others reach it, and what it drives. */
export function HostPanel({ host, zones, onClose, onDelete }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const { moment } = useFormat();
  const facts: [string, ReactNode][] = [
    [
      t('hosts.drives'),
      zones.length === 0
        ? t('hosts.nothing')
        : zones.map((zone, index) => (
            <Fragment key={zone.id}>
              {index > 0 && t('people.comma')}
              <Link to="/nodes" search={{ tab: 'zones', open: zone.id }}>
                {zone.name}
              </Link>
            </Fragment>
          )),
    ],
    [
      t('hosts.address'),
      <span key="url" className="mono">
        {host.url || t('hosts.noAddress')}
      </span>,
    ],
    [t('hosts.since'), moment(host.started_at)],
    [t('hosts.seen'), moment(host.seen_at)],
    [t('hosts.version'), host.version],
    [
      t('zones.id'),
      <span key="id" className="mono">
        {host.id}
      </span>,
    ],
  ];
  return (
    <SidePanel title={host.name} onClose={onClose}>
      <p>
        <HostState host={host} soft />
      </p>
      <p className="effect">{t(`hosts.stateLong.${host.state}`)}</p>
      <Section
        title={t('hosts.about')}
        aside={<AsCommand size="small" cli="corral host list" api="GET /api/v1/hosts" />}
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
        (host.state === 'silent' ? (
          <div className="panel-actions">
            <Button danger onClick={onDelete}>
              {t('hosts.delete')}
            </Button>
          </div>
        ) : (
          <p className="effect">{t('hosts.runningStays')}</p>
        ))}
      {may('audit.read') && (
        <p className="small">
          <Link to="/audit" search={{ object: host.id, name: host.name }}>
            {t('people.history')}
          </Link>
        </p>
      )}
    </SidePanel>
  );
}
