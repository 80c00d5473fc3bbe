import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { ClusterNode } from '../../../api/models';
import { useMay } from '../../../api/session';
import { Section } from '../../../components/Page';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useAmounts } from '../amounts';
import { DeviceHealth } from './DeviceTable';
import { NodeState } from './NodeTable';

/** One machine: what it has, and whether it gets new work. */
export function NodePanel({ node, onClose }: { node: ClusterNode; onClose: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const queries = useQueryClient();
  const { ago } = useFormat();
  const { plain, gib } = useAmounts();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const cordon = async () => {
    setBusy(true);
    setError(null);
    try {
      await body(
        client.PATCH('/api/v1/nodes/{node_id}', {
          params: { path: { node_id: node.id }, header: ifMatch(node) },
          body: { cordoned: !node.cordoned },
        }),
      );
      await queries.invalidateQueries({ queryKey: keys.nodes });
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const labels = Object.entries(node.labels);
  const facts = Object.entries(node.facts).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  return (
    <SidePanel
      title={node.name}
      subtitle={t('zones.inPool', { pool: node.pool_name, zone: node.zone_name })}
      onClose={onClose}
    >
      {error !== null && <ProblemNotice error={error} />}
      <p>
        <NodeState node={node} soft />
      </p>
      {may('zones.manage') && (
        <div className="panel-actions" style={{ marginTop: 12 }}>
          <Button disabled={busy} onClick={() => void cordon()}>
            {node.cordoned ? t('zones.uncordon') : t('zones.cordon')}
          </Button>
        </div>
      )}
      <p className="effect">{node.cordoned ? t('zones.uncordonEffect') : t('zones.cordonEffect')}</p>
      <Section title={t('zones.has')}>
        <dl className="facts">
          <dt>{t('zones.cpus')}</dt>
          <dd>{plain(node.cpu_milli, 'cpu_milli')}</dd>
          <dt>{t('zones.memory')}</dt>
          <dd>{gib(node.memory_mib)}</dd>
          {node.disk_mib !== null && (
            <>
              <dt>{t('zones.disk')}</dt>
              <dd>{gib(node.disk_mib)}</dd>
            </>
          )}
          {labels.length > 0 && (
            <>
              <dt>{t('zones.labels')}</dt>
              <dd>
                {labels.map(([key, value]) => (
                  <div key={key} className="mono">
                    {key}={value}
                  </div>
                ))}
              </dd>
            </>
          )}
          {facts.map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
          {node.seen_at !== null && (
            <>
              <dt>{t('zones.seen')}</dt>
              <dd>{ago(node.seen_at)}</dd>
            </>
          )}
        </dl>
      </Section>
      <Section title={t('zones.devices')}>
        {node.devices.map((device) => (
          <div key={device.id} className="row">
            <span className="grow">
              <span className="strong">{device.index}</span>{' '}
              {device.simulated ? t('zones.simulatedModel', { model: device.model }) : device.model}
              <span className="small text-2" style={{ display: 'block' }}>
                {gib(device.memory_mib)}
              </span>
            </span>
            <DeviceHealth health={device.health} />
          </div>
        ))}
        {node.devices.length === 0 && <p className="text-2">{t('zones.noGpu')}</p>}
      </Section>
      {may('audit.read') && (
        <p className="small">
          <Link to="/audit" search={{ object: node.id, name: node.name }}>
            {t('people.history')}
          </Link>
        </p>
      )}
    </SidePanel>
  );
}

const FACTS = ['operating_system', 'architecture', 'cpu_model', 'isolation', 'disk_limits'] as const;

function Fact({ name, value }: { name: string; value: string }) {
  const { t } = useTranslation();
  const fact = FACTS.find((known) => known === name);
  if (fact === undefined) return null;
  return (
    <>
      <dt>{t(`zones.fact.${fact}`)}</dt>
      <dd>{value}</dd>
    </>
  );
}
