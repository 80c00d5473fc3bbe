import { useTranslation } from 'react-i18next';
import { plugOf } from '../../kinds';
import type { Workload } from '../../api/models';
import { useFormat } from '../../i18n/format';
import { manyAbove, useSize } from './amounts';
import { useNeverWords } from './never-words';

type Gpu = NonNullable<Workload['resources']['gpu']>;

/** What a workload holds or asks for: the devices, and the rest. */
export function useNeedsWords() {
  const { t } = useTranslation();
  const { number } = useFormat();
  const size = useSize();
  const gpuWords = (gpu: Gpu): string => {
    const count = gpu.count ?? 1;
    const models = gpu.models ?? [];
    const part = gpu.memory_mib ? size(gpu.memory_mib) : gpu.profile;
    if (part)
      return count > 1 ? t('work.needs.slices', { number: count, size: part }) : t('work.needs.slice', { size: part });
    if (gpu.fraction_milli)
      return t('work.needs.fraction', {
        count: manyAbove((gpu.fraction_milli / 1000) * count),
        part: number((gpu.fraction_milli / 1000) * count),
      });
    return models.length > 0
      ? t('work.needs.models', { number: count, models: models.join(t('work.needs.or')) })
      : t('work.needs.gpus', { count });
  };
  return ({
    resources,
    replicas,
  }: Pick<Workload, 'resources' | 'replicas'>): { first: string; second: string | null } => {
    const times = (needs: string) => (replicas > 1 ? t('work.needs.replicas', { replicas, needs }) : needs);
    const host = t('work.needs.list', {
      first: t('work.needs.cpu', { number: number(resources.cpu_milli / 1000) }),
      second: size(resources.memory_mib),
    });
    return resources.gpu
      ? { first: times(gpuWords(resources.gpu)), second: host }
      : { first: times(host), second: null };
  };
}

/** What kind of work it is; one that the console does not know keeps its name. */
export function useKindWords(): (kind: string) => string {
  const { t } = useTranslation();
  return (kind) => {
    const plug = plugOf(kind);
    return plug ? t(plug.name) : kind;
  };
}

export interface Told {
  why: string;
  sentence?: string;
  facts: Record<string, unknown>;
}

const bare = (sentence: string): string => sentence.replace(/[.。]+$/, '');
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

/** Why it is in its state, made from the facts; a reason the catalogue does not know keeps the server's words. */
export function useReasonWords(): (reason: Told) => string {
  const { t, i18n } = useTranslation();
  const { duration } = useFormat();
  const size = useSize();
  const never = useNeverWords();
  const words = ({ why, sentence, facts }: Told): string => {
    const other = text(facts.for_name) || t('work.others');
    if (why === 'taken') {
      const key = `work.taken.${text(facts.entitlement) || text(facts.rule)}`;
      return i18n.exists(key)
        ? (t as unknown as (key: string, values: object) => string)(key, { other })
        : (sentence ?? '');
    }
    if (why === 'infeasible') {
      const queue = t(facts.own_queue ? 'why.ownQueue' : 'why.queueAbove');
      const because = never(text(facts.rule), { ...facts, queue }, facts.lack);
      return because ? t('why.never', { reason: because }) : (sentence ?? '');
    }
    const key = `work.reason.${why}`;
    if (!i18n.exists(key)) return sentence ?? '';
    const after = facts.after as ({ why: string } & Record<string, unknown>) | undefined;
    const values = {
      other,
      by: text(facts.by_name) || t('work.corral'),
      who: Number(facts.of ?? 1) > 1 ? t('work.who.replica', { replica: text(facts.replica) }) : t('work.who.it'),
      nodes: text(facts.nodes),
      from: text(facts.from_name),
      to: text(facts.to_name),
      replica: text(facts.replica),
      what: bare(after ? words({ why: after.why, facts: after }) : text(facts.what)),
      code: text(facts.exit_code),
      signal: text(facts.signal),
      size: size(Number(facts.memory_mib ?? 0)),
      duration: duration(Number(facts.time_limit_seconds ?? 0)),
      number: text(facts.number),
      most: text(facts.most),
      after: after ? words({ why: after.why, facts: after }) : '',
    };
    const said = (t as unknown as (key: string, values: object) => string)(key, values);
    const detail = text(facts.detail);
    return detail ? t('work.withDetail', { sentence: bare(said), detail: bare(detail) }) : said;
  };
  return words;
}
