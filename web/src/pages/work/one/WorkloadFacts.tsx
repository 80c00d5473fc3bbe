import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import type { components } from '../../../api/schema';
import { useFormat } from '../../../i18n/format';
import { useZones } from '../../cluster/zones';
import { portText } from '../port-words';
import { usedQuery } from '../queries';
import { isPresent } from '../states';
import { useNeedsWords } from '../words';
import { isZoneReason } from '../zone-reasons';

const MILLI_HOURS = 3_600_000;
/** More devices of a node are counted instead of named. */
const MOST_NAMED = 2;

/** What it is, in a line of facts. */
export function WorkloadFacts({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const needs = useNeedsWords()(work);
  const used = useUsed(work);
  const listening = useListening(work);
  const { several } = useZones();
  const facts: [string, ReactNode][] = [
    [
      t('work.fact.needs'),
      needs.second ? t('work.needs.list', { first: needs.first, second: needs.second }) : needs.first,
    ],
    ...(work.nodes.length > 0
      ? ([[t('work.fact.where'), <Where key="where" work={work} />]] as [string, ReactNode][])
      : []),
    ...(several || isSimulation(work)
      ? ([[t('work.fact.zone'), <ZoneOf key="zone" work={work} />]] as [string, ReactNode][])
      : []),
    ...(work.held_until
      ? ([[t('work.fact.held'), t('work.fact.heldUntil', { moment: moment(work.held_until) })]] as [
          string,
          ReactNode,
        ][])
      : []),
    ...listening,
    ...(work.flavor ? ([[t('work.fact.flavor'), work.flavor]] as [string, ReactNode][]) : []),
    [
      t('work.fact.owner'),
      t('work.fact.ofOrganisation', { person: work.user.name, organisation: work.organisation.name }),
    ],
    [
      t('work.fact.priority'),
      work.preemptible
        ? t('work.fact.preemptible', { priority: work.priority })
        : t('work.fact.notPreemptible', { priority: work.priority }),
    ],
    ...(used ? ([[t('work.fact.used'), used]] as [string, ReactNode][]) : []),
    [t('work.fact.since'), moment(work.created_at)],
  ];
  return (
    <dl className="fact-line">
      {facts.map(([title, value]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Its ports, and since when it has been ready, of work that says when it is. */
function useListening(work: WorkloadDetail): [string, ReactNode][] {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const { ports, readiness } = work.spec as Pick<components['schemas']['TrainingSpec'], 'ports' | 'readiness'>;
  const ready = work.ready_at
    ? t('work.fact.readySince', { moment: moment(work.ready_at) })
    : t('work.fact.readyOf', { number: work.ready_replicas, of: work.replicas });
  return [
    ...(ports?.length ? ([[t('work.fact.ports'), ports.map(portText).join(', ')]] as [string, ReactNode][]) : []),
    ...(readiness && isPresent(work.state) ? ([[t('work.fact.ready'), ready]] as [string, ReactNode][]) : []),
  ];
}

const isSimulation = ({ spec }: WorkloadDetail): boolean => Boolean(spec.simulation);

/** Where it is, and why there. */
function ZoneOf({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const name = isSimulation(work) ? t('zones.simulatedZone', { zone: work.zone_name }) : work.zone_name;
  const reason = work.zone_reason;
  return (
    <>
      {name}
      {isZoneReason(reason) && <span className="small text-2 fact-why">{t(`work.whyZone.${reason}`)}</span>}
    </>
  );
}

/** Nodes with the devices it holds there. */
function Where({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const held = work.attempts.at(-1)?.replicas ?? [];
  const devices = (node: string) => {
    const names = [
      ...new Set(held.filter((one) => one.node === node).flatMap((one) => one.devices.map(({ device }) => device))),
    ];
    return names.length > MOST_NAMED
      ? `${t('work.comma')}${t('work.needs.gpus', { count: names.length })}`
      : names.length > 0
        ? ` ${names.join(', ')}`
        : '';
  };
  const places = work.nodes.map((node) => `${node}${devices(node)}`).join('; ');
  return work.simulated ? (
    <abbr title={isSimulation(work) ? t('zones.simulatedZoneNote') : t('zones.simulatedNote')}>
      {t('zones.simulatedModel', { model: places })}
    </abbr>
  ) : (
    <>{places}</>
  );
}

/** What the ledger says it has held so far: the GPUs, or the CPU where it has none. */
function useUsed(work: WorkloadDetail): string | null {
  const { t } = useTranslation();
  const { number } = useFormat();
  const { data } = useQuery(usedQuery(work.id, work.created_at, isPresent(work.state)));
  const sum = (resource: string) =>
    (data ?? [])
      .filter((one) => one.resource === resource && one.outcome === 'used')
      .reduce((total, one) => total + one.amount_seconds, 0) / MILLI_HOURS;
  const short = (hours: number) => number(Math.round(hours * 1000) / 1000);
  if (sum('gpu_milli') > 0) return t('work.fact.gpuHours', { number: short(sum('gpu_milli')) });
  return sum('cpu_milli') > 0 ? t('work.fact.cpuHours', { number: short(sum('cpu_milli')) }) : null;
}
