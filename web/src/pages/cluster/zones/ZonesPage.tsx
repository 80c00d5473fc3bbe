import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { keys, keysOfKind } from '../../../api/keys';
import type { ClusterNode, Pool, Zone } from '../../../api/models';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { LatestVersion } from '../../../components/LatestVersion';
import { ConfirmByName } from '../../../components/Modals';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../../components/States';
import { TabBar } from '../../../components/TabBar';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import { useAmounts } from '../amounts';
import '../cluster.css';
import { devicesOf, nodesQuery, poolsQuery, zonesQuery } from '../queries';
import { DeviceTable } from './DeviceTable';
import { NewZonePanel } from './NewZonePanel';
import { NodePanel } from './NodePanel';
import { NodeTable } from './NodeTable';
import { PoolPanel } from './PoolPanel';
import { PoolTable } from './PoolTable';
import { listCommand } from './zone-command';
import { ZonePanel } from './ZonePanel';
import { ZoneSwitch } from './ZoneSwitch';
import { ZoneTable } from './ZoneTable';

const TABS = ['zones', 'nodes', 'devices', 'pools'] as const;
/** Who drives a zone, and whether anybody does, changes without an event. */
const LEADS_MS = 10_000;

/** Which places run work, what machines there are, what they have, and which get new work. */
export default function ZonesPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const [url, change] = useUrlState();
  const zones = useQuery({ ...zonesQuery, refetchInterval: LEADS_MS });
  const allNodes = useQuery(nodesQuery);
  const allPools = useQuery(poolsQuery);
  const tab = TABS.find((one) => one === url.tab) ?? 'zones';
  const several = (zones.data?.length ?? 0) > 1;
  const zone = tab === 'zones' ? undefined : zones.data?.find((one) => one.id === url.zone);
  const here = <Thing extends { zone_id: string }>(things: Thing[] | undefined) =>
    zone ? things?.filter((one) => one.zone_id === zone.id) : things;
  const nodes = here(allNodes.data);
  const pools = here(allPools.data);
  const devices = devicesOf(nodes);
  const shown = tab === 'zones' ? undefined : allNodes.data?.find((node) => node.id === url.node);
  const counts = { zones: zones.data?.length, nodes: nodes?.length, devices: devices?.length, pools: pools?.length };
  const open = (id: string) => change({ node: id });
  const manages = useMay()('zones.manage');
  const pool = tab === 'pools' ? allPools.data?.find((one) => one.id === url.pool) : undefined;
  const opened = tab === 'zones' ? zones.data?.find((one) => one.id === url.open) : undefined;
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState<Pool | null>(null);
  const [removing, setRemoving] = useState<Zone | null>(null);
  const close = () => change({ node: undefined, pool: undefined, open: undefined, edit: undefined });
  const panel =
    tab === 'zones' && url.edit === 'new' && manages ? (
      <NewZonePanel onClose={close} onDone={(id) => change({ edit: undefined, open: id })} />
    ) : opened ? (
      <ZonePanel key={opened.id} zone={opened} onClose={close} onDelete={() => setRemoving(opened)} />
    ) : tab === 'pools' && url.edit === 'new' && manages && zones.data ? (
      <PoolPanel
        key="new"
        pool={null}
        zones={zones.data}
        zoneId={zone?.id ?? zones.data[0]?.id}
        editable
        onClose={close}
      />
    ) : pool ? (
      <LatestVersion of={pool}>
        {(shown) => (
          <PoolPanel
            pool={shown}
            zones={[]}
            zoneId={shown.zone_id}
            editable={manages}
            onClose={close}
            onDelete={manages && Object.keys(shown.labels).length > 0 ? () => setDeleting(shown) : undefined}
          />
        )}
      </LatestVersion>
    ) : shown ? (
      <NodePanel key={shown.id} node={shown} onClose={close} />
    ) : null;
  const error = zones.error ?? allNodes.error ?? allPools.error;
  const none = <EmptyState title={t('zones.noNodes')} text={t('zones.noNodesText')} command="corral doctor" />;
  return (
    <Page
      title={t('menu.zonesAndNodes')}
      crumbs={[{ title: t('menu.cluster') }]}
      tabs={
        <TabBar
          label={t('menu.zonesAndNodes')}
          tabs={TABS.map((key) => ({
            key,
            title: t(`zones.${key}`),
            count: counts[key],
            keep: key === 'zones' ? undefined : { zone: zone?.id },
          }))}
        />
      }
      answer={error ? null : tab === 'zones' ? <ZonesAnswer zones={zones.data} /> : <Answer nodes={nodes} />}
      actions={
        <>
          {!phone && <AsCommand {...listCommand(tab, zone)} />}
          {tab === 'zones' && manages && (
            <Button type="primary" icon={<PlusIcon />} onClick={() => change({ edit: 'new', open: undefined })}>
              {t('zones.addZone')}
            </Button>
          )}
          {tab === 'pools' && manages && zones.data && (
            <Button type="primary" icon={<PlusIcon />} onClick={() => change({ edit: 'new', pool: undefined })}>
              {t('zones.newPool')}
            </Button>
          )}
        </>
      }
      panel={panel}
    >
      {error ? (
        <ErrorState
          error={error}
          what={t('menu.zonesAndNodes')}
          onRetry={() => void Promise.all([zones.refetch(), allNodes.refetch(), allPools.refetch()])}
        />
      ) : (
        <>
          {tab !== 'zones' && several && <ZoneSwitch zones={zones.data ?? []} chosen={zone} />}
          <Simulated zones={zone ? [zone] : (zones.data ?? [])} nodes={tab === 'zones' ? [] : (nodes ?? [])} />
          {tab === 'zones' && (
            <ZoneTable
              zones={zones.data}
              narrow={panel !== null}
              openId={opened?.id ?? null}
              onOpen={(id) => change({ open: id, edit: undefined })}
            />
          )}
          {tab === 'nodes' && (
            <NodeTable
              nodes={nodes}
              withZone={several && !zone}
              narrow={shown !== undefined}
              openId={shown?.id ?? null}
              onOpen={open}
              empty={none}
            />
          )}
          {tab === 'devices' && (
            <DeviceTable
              devices={devices}
              nodes={several && !zone ? nodes : undefined}
              narrow={shown !== undefined}
              onOpen={open}
              empty={
                <EmptyState title={t('zones.noDevices')} text={t('zones.noDevicesText')} command="corral doctor" />
              }
            />
          )}
          {tab === 'pools' && (
            <PoolTable
              pools={pools}
              withZone={several && !zone}
              alone={!several}
              narrow={panel !== null}
              openId={pool?.id ?? null}
              onOpen={(id) => change({ pool: id, edit: undefined })}
            />
          )}
        </>
      )}
      <ConfirmByName
        open={deleting !== null}
        title={t('zones.deletePoolTitle', { name: deleting?.name })}
        text={t('zones.deletePoolText')}
        name={deleting?.name}
        action={t('zones.deletePool')}
        keep={t('zones.keepPool')}
        onConfirm={async () => {
          if (!deleting) return;
          await body(
            client.DELETE('/api/v1/pools/{pool_id}', {
              params: { path: { pool_id: deleting.id }, header: ifMatch(deleting) },
            }),
          );
          close();
          await Promise.all(
            [keys.pools, keys.nodes, keys.queues].map((queryKey) => queries.invalidateQueries({ queryKey })),
          );
        }}
        onClose={() => setDeleting(null)}
      />
      <ConfirmByName
        open={removing !== null}
        title={t('zones.deleteZoneTitle', { name: removing?.name })}
        text={t('zones.deleteZoneText')}
        name={removing?.name}
        action={t('zones.deleteZone')}
        keep={t('zones.keepZone')}
        onConfirm={async () => {
          if (!removing) return;
          await body(client.DELETE('/api/v1/zones/{zone_id}', { params: { path: { zone_id: removing.id } } }));
          close();
          await Promise.all(keysOfKind('zone').map((queryKey) => queries.invalidateQueries({ queryKey })));
        }}
        onClose={() => setRemoving(null)}
      />
    </Page>
  );
}

/** What computes nothing says so. */
function Simulated({ zones, nodes }: { zones: readonly Zone[]; nodes: readonly ClusterNode[] }) {
  const { t } = useTranslation();
  const { sentences } = useFormat();
  const simulated = zones.filter((one) => one.simulated);
  const elsewhere = nodes.some((node) => node.simulated && !simulated.some((one) => one.id === node.zone_id));
  if (simulated.length === 0 && !elsewhere) return null;
  return (
    <p className="effect">
      {sentences([
        simulated.length > 0 &&
          t('zones.simulatedZonesNote', {
            count: simulated.length,
            names: simulated.map((one) => one.name).join(t('people.comma')),
          }),
        elsewhere && t('zones.simulatedNote'),
      ])}
    </p>
  );
}

function ZonesAnswer({ zones }: { zones: Zone[] | undefined }) {
  const { t } = useTranslation();
  const { sentences } = useFormat();
  if (!zones) return <SkeletonAnswer />;
  const names = (state: Zone['state']) => zones.filter((one) => one.state === state).map((one) => one.name);
  const simulated = zones.filter((one) => one.simulated).length;
  const troubles = [
    names('unreachable').length > 0 &&
      t('zones.zonesUnreachable', {
        count: names('unreachable').length,
        names: names('unreachable').join(t('people.comma')),
      }),
    names('starting').length > 0 && t('zones.zonesStarting', { names: names('starting').join(t('people.comma')) }),
  ];
  return (
    <AnswerLine consequence={sentences(troubles) || t('zones.allReady')}>
      {simulated > 0
        ? t('zones.zonesAnswer', { count: zones.length, simulated })
        : t('zones.zonesReal', { count: zones.length })}
    </AnswerLine>
  );
}

function Answer({ nodes }: { nodes: ClusterNode[] | undefined }) {
  const { t } = useTranslation();
  const { told } = useAmounts();
  if (!nodes) return <SkeletonAnswer />;
  const here = nodes.filter((node) => node.state === 'ready');
  const healthy = here.flatMap((node) => node.devices).filter((device) => device.health === 'healthy').length;
  const sum = (of: (node: ClusterNode) => number) => here.reduce((total, node) => total + of(node), 0);
  const faulty = here.flatMap((node) => node.devices).length - healthy;
  const troubles = [
    nodes.length > here.length && t('zones.lost', { count: nodes.length - here.length }),
    here.some((node) => node.cordoned) &&
      t('zones.cordonedCount', { count: here.filter((node) => node.cordoned).length }),
    faulty > 0 && t('zones.faulty', { count: faulty }),
  ].filter((one) => typeof one === 'string');
  return (
    <AnswerLine
      consequence={
        troubles.length > 0 ? troubles.join(t('zones.andSo')) : nodes.length > 0 ? t('zones.allReady') : undefined
      }
    >
      {t('zones.answer', {
        count: here.length,
        gpus: told(healthy * 1000, 'gpu_milli'),
        cpus: told(
          sum((node) => node.cpu_milli),
          'cpu_milli',
        ),
        memory: told(
          sum((node) => node.memory_mib),
          'memory_mib',
        ),
      })}
    </AnswerLine>
  );
}
