import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { systemQuery } from '../../api/platform';
import type { System } from '../../api/models';
import { Section } from '../../components/Page';
import { ErrorState, SkeletonRows } from '../../components/States';
import { useFormat } from '../../i18n/format';

const MIB = 1024 * 1024;
const databases: Record<System['database'], string> = { sqlite: 'SQLite', postgresql: 'PostgreSQL' };

/** What was found on the machine Corral runs on. */
export function Machine() {
  const { t } = useTranslation();
  const system = useQuery(systemQuery);
  return (
    <Section title={t('home.admin.machine')}>
      {system.error && (
        <ErrorState error={system.error} what={t('home.admin.machine')} onRetry={() => void system.refetch()} />
      )}
      {system.isPending && <SkeletonRows rows={6} height={33} />}
      {system.data && <Facts system={system.data} />}
    </Section>
  );
}

function Facts({ system }: { system: System }) {
  const { t } = useTranslation();
  const { gibibytes } = useFormat();
  const { machine } = system;
  return (
    <dl className="facts">
      <Fact name={t('home.machine.name')}>{machine.host_name}</Fact>
      <Fact name={t('home.machine.system')}>{`${machine.operating_system}, ${machine.architecture}`}</Fact>
      <Fact name={t('home.machine.cpu')} second={machine.cpu_model}>
        {t('home.machine.cpuCount', { count: machine.cpu_count })}
      </Fact>
      <Fact name={t('home.machine.memory')}>{gibibytes(machine.memory_mib * MIB)}</Fact>
      <Fact name={t('home.machine.gpus')} second={machine.gpu_note}>
        {gpus(machine.gpus, t('home.machine.noGpus'), gibibytes)}
      </Fact>
      <Fact name={t('home.machine.version')}>{system.version}</Fact>
      <Fact name={t('home.machine.database')}>{databases[system.database]}</Fact>
    </dl>
  );
}

function Fact({ name, second, children }: { name: string; second?: string | null; children: React.ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {children}
        {second && <div className="small text-3">{second}</div>}
      </dd>
    </>
  );
}

/** Equal devices together: "4 × NVIDIA H100, 79 GiB". */
function gpus(devices: System['machine']['gpus'], none: string, gibibytes: (bytes: number) => string): React.ReactNode {
  if (devices.length === 0) return none;
  const counts = new Map<string, number>();
  for (const device of devices) {
    const name = `${device.model}, ${gibibytes(device.memory_mib * MIB)}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => <div key={name}>{`${count} × ${name}`}</div>);
}
