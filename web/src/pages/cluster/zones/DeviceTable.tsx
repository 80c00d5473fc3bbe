import { useTranslation } from 'react-i18next';
import type { ClusterNode, Device } from '../../../api/models';
import { DataTable, WIDE } from '../../../components/DataTable';
import { StatusChip } from '../../../components/StatusChip';
import { useAmounts } from '../amounts';
import { usePoolWords } from '../zones';

type Row = Omit<Device, 'id'> & { id: string; device: string };

/** Two nodes may call their devices alike. */
const asRow = (device: Device): Row => ({ ...device, id: `${device.node_id} ${device.id}`, device: device.id });

export function DeviceTable({
  devices,
  nodes,
  narrow,
  onOpen,
  empty,
}: {
  devices: Device[] | undefined;
  /** Present where they are of several zones: whose they are. */ nodes: ClusterNode[] | undefined;
  /** A panel stands beside it. */ narrow: boolean;
  onOpen: (nodeId: string) => void;
  empty: React.ReactNode;
}) {
  const { t } = useTranslation();
  const { gib } = useAmounts();
  const poolWords = usePoolWords(nodes !== undefined);
  const zones = new Map(nodes?.map((node) => [node.id, node.zone_name]));
  const pool = (device: Row) => poolWords(zones.get(device.node_id) ?? '', device.pool_name);
  const model = (device: Row) => (device.simulated ? t('zones.simulatedModel', { model: device.model }) : device.model);
  const mode = ({ mode: one }: Row) =>
    one === 'any' || one === 'whole' || one === 'shared' || one === 'mig' ? t(`zones.modeOf.${one}`) : one;
  return (
    <DataTable<Row>
      label={t('zones.devices')}
      rows={devices?.map(asRow)}
      empty={empty}
      onOpen={(device) => onOpen(device.node_id)}
      columns={[
        {
          title: t('zones.device'),
          render: (_, device) => (
            <span className="strong">{t('zones.deviceOf', { node: device.node_name, index: device.index })}</span>
          ),
        },
        { title: t('zones.health'), width: 120, render: (_, device) => <DeviceHealth health={device.health} /> },
        { title: t('zones.model'), render: (_, device) => model(device) },
        {
          title: t('zones.gpuMemory'),
          align: 'right',
          width: 108,
          render: (_, device) => <span className="nowrap">{gib(device.memory_mib)}</span>,
        },
        { title: t('zones.mode'), width: 120, render: (_, device) => <span className="text-2">{mode(device)}</span> },
        {
          title: nodes ? t('zones.zoneAndPool') : t('zones.pool'),
          width: nodes ? 152 : 140,
          render: (_, device) => <span className="text-2">{pool(device)}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('zones.id'),
                ellipsis: true,
                responsive: WIDE,
                render: (_: unknown, device: Row) => <span className="mono text-2">{device.device}</span>,
              },
            ]),
      ]}
      phoneRow={(device) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{t('zones.deviceOf', { node: device.node_name, index: device.index })}</span>
            <DeviceHealth health={device.health} />
          </div>
          <div className="small text-2">
            {model(device)}
            {t('people.comma')}
            {gib(device.memory_mib)}
          </div>
        </div>
      )}
    />
  );
}

export function DeviceHealth({ health }: { health: Device['health'] }) {
  const { t } = useTranslation();
  return (
    <StatusChip
      state={health === 'healthy' ? 'active' : health === 'faulty' ? 'failed' : 'disabled'}
      word={t(`zones.healthOf.${health}`)}
    />
  );
}
