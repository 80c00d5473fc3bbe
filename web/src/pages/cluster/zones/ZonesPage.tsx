import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import type { ClusterNode } from '../../../api/models';
import { useMay } from '../../../api/session';
import { AsCommand } from '../../../components/AsCommand';
import { PlusIcon } from '../../../components/icons';
import { AnswerLine, Page } from '../../../components/Page';
import { EmptyState, ErrorState, Notice, SkeletonAnswer } from '../../../components/States';
import { TabBar } from '../../../components/TabBar';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../../organisation/organisation.css';
import { useAmounts } from '../amounts';
import '../cluster.css';
import { devicesOf, nodesQuery, poolsQuery } from '../queries';
import { DeviceTable } from './DeviceTable';
import { NodePanel } from './NodePanel';
import { NodeTable } from './NodeTable';
import { PoolPanel } from './PoolPanel';
import { PoolTable } from './PoolTable';

const TABS = ['nodes', 'devices', 'pools'] as const;

/** What machines there are, what they have, and which get new work. */
export default function ZonesPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const [url, change] = useUrlState();
  const nodes = useQuery(nodesQuery);
  const pools = useQuery(poolsQuery);
  const devices = devicesOf(nodes.data);
  const tab = TABS.find((one) => one === url.tab) ?? 'nodes';
  const shown = nodes.data?.find((node) => node.id === url.node);
  const counts = { nodes: nodes.data?.length, devices: devices?.length, pools: pools.data?.length };
  const open = (id: string) => change({ node: id });
  const manages = useMay()('zones.manage');
  const pool = tab === 'pools' ? pools.data?.find((one) => one.id === url.pool) : undefined;
  const zone = pools.data?.[0];
  const close = () => change({ node: undefined, pool: undefined, edit: undefined });
  const panel =
    tab === 'pools' && url.edit === 'new' && manages && zone ? (
      <PoolPanel key="new" pool={null} zoneId={zone.zone_id} editable onClose={close} />
    ) : pool ? (
      <PoolPanel key={`${pool.id} ${pool.generation}`} pool={pool} zoneId={pool.zone_id} editable={manages} onClose={close} />
    ) : shown ? (
      <NodePanel key={shown.id} node={shown} onClose={close} />
    ) : null;
  const none = <EmptyState title={t('zones.noNodes')} text={t('zones.noNodesText')} command="corral doctor" />;
  return (
    <Page
      title={t('menu.zonesAndNodes')}
      crumbs={[{ title: t('menu.cluster') }]}
      tabs={<TabBar label={t('menu.zonesAndNodes')} tabs={TABS.map((key) => ({ key, title: t(`zones.${key}`), count: counts[key] }))} />}
      answer={nodes.error ? null : <Answer nodes={nodes.data} />}
      actions={
        <>
          {!phone && <AsCommand cli={tab === 'pools' ? 'corral pool list' : `corral ${tab}`} api={`GET /api/v1/${tab}`} />}
          {tab === 'pools' && manages && zone && <Button type="primary" icon={<PlusIcon />} onClick={() => change({ edit: 'new', pool: undefined })}>{t('zones.newPool')}</Button>}
        </>
      }
      panel={panel}
    >
      {nodes.error ? (
        <ErrorState error={nodes.error} what={t('menu.zonesAndNodes')} onRetry={() => void nodes.refetch()} />
      ) : (
        <>
          {devices?.some((device) => device.simulated) && <Notice tone="warning">{t('zones.simulatedNote')}</Notice>}
          {tab === 'nodes' && <NodeTable nodes={nodes.data} narrow={shown !== undefined} openId={shown?.id ?? null} onOpen={open} empty={none} />}
          {tab === 'devices' && <DeviceTable devices={devices} narrow={shown !== undefined} onOpen={open} empty={<EmptyState title={t('zones.noDevices')} text={t('zones.noDevicesText')} command="corral doctor" />} />}
          {tab === 'pools' && <PoolTable pools={pools.data} narrow={panel !== null} openId={pool?.id ?? null} onOpen={(id) => change({ pool: id, edit: undefined })} />}
        </>
      )}
    </Page>
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
    here.some((node) => node.cordoned) && t('zones.cordonedCount', { count: here.filter((node) => node.cordoned).length }),
    faulty > 0 && t('zones.faulty', { count: faulty }),
  ].filter((one) => typeof one === 'string');
  return (
    <AnswerLine consequence={troubles.length > 0 ? troubles.join(t('zones.andSo')) : nodes.length > 0 ? t('zones.allReady') : undefined}>
      {t('zones.answer', { count: here.length, gpus: told(healthy * 1000, 'gpu_milli'), cpus: told(sum((node) => node.cpu_milli), 'cpu_milli'), memory: told(sum((node) => node.memory_mib), 'memory_mib') })}
    </AnswerLine>
  );
}
