import { useTranslation } from 'react-i18next';
import type { Verdict } from '../../api/models';
import { useFormat } from '../../i18n/format';
import { manyAbove, useSize } from './words';

type Facts = Record<string, unknown>;
type Say = (key: string, values?: Facts) => string;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const name = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The planner's answer in the language in use, made from its facts; what the catalogue does not know keeps the server's words. */
export function useVerdictWords() {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { clock, duration, moment } = useFormat();
  const amount = useAmount();
  const help = useHelpWords();

  const reason = (facts: Facts): string | null => {
    const kind = name(facts.kind);
    const key = kind === 'no_room' && count(facts.asked) > 1 ? 'why.reason.gang' : `why.reason.${kind}`;
    if (!i18n.exists(key)) return null;
    const resource = name(facts.resource);
    const number = (value: unknown) => (resource ? amount(resource, count(value)) : String(count(value)));
    return say(key, { used: number(facts.used), asked: number(facts.asked), bound: number(facts.bound), queue: name(facts.queue), keeper: name(facts.kept_for) || t('work.others'), hold: name(facts.hold) });
  };

  return {
    /** Fits, waits or never, and why. */
    sentence: (verdict: Verdict): string => {
      if (verdict.result === 'fits') return verdict.nodes.length > 0 ? t('why.fitsOn', { nodes: verdict.nodes.join(', ') }) : t('why.fits');
      if (verdict.result === 'waits' && verdict.takes_from.length > 0) return t('why.takes', { names: verdict.takes_from.join(t('people.comma')) });
      const because = verdict.reason && reason(verdict.reason);
      if (!because) return verdict.sentence;
      return verdict.result === 'never' ? t('why.never', { reason: because }) : t('why.waits', { reason: because });
    },
    /** When it will probably start, or honestly that nobody knows. */
    when: (verdict: Verdict): string | undefined => {
      if (verdict.result !== 'waits') return undefined;
      if (verdict.starts_at) return t('why.startsAt', { time: moment(verdict.starts_at) });
      return verdict.expectation?.includes('too many') ? t('why.tooFar') : t('why.noEstimate');
    },
    about: (verdict: Verdict): string | undefined =>
      verdict.starts_at ? t('why.about', { time: moment(verdict.starts_at), duration: duration((Date.parse(verdict.starts_at) - Date.parse(verdict.at)) / 1000) }) : undefined,
    asOf: (verdict: Verdict): string => t('why.asOf', { time: clock(verdict.at, true) }),
    /** On how many nodes which check failed. */
    checks: (verdict: Verdict): { nodes: string; what: string }[] =>
      Object.entries((verdict.reason?.failed_checks ?? {}) as Record<string, number>).map(([check, nodes]) => ({ nodes: t('why.nodes', { count: nodes }), what: i18n.exists(`why.check.${check}`) ? say(`why.check.${check}`) : check })),
    helps: (verdict: Verdict): string[] => verdict.helps.flatMap(help),
  };
}

function useHelpWords(): (one: Verdict['helps'][number]) => string[] {
  const { t } = useTranslation();
  const { duration, number } = useFormat();
  const size = useSize();
  const amount = useAmount();
  return ({ kind, facts, sentence }) => {
    switch (kind) {
      case 'make_preemptible':
        return [t('why.help.make_preemptible')];
      case 'lower_minimum':
        return [t('why.help.lower_minimum', { count: count(facts.minimum) })];
      case 'ask_for_less':
        if (facts.what === 'devices') return [t('why.help.devices', { gpus: t('work.needs.gpus', { count: count(facts.amount) }) })];
        if (facts.what === 'cpu_milli') return [t('why.help.cpu_milli', { number: number(count(facts.amount) / 1000) })];
        if (facts.what === 'slice_mib') return [t('why.help.slice_mib', { size: size(count(facts.amount)) })];
        return [t('why.help.memory_mib', { size: size(count(facts.amount)) })];
      case 'drop_condition':
        return [facts.what === 'models' ? t('why.help.models') : sentence];
      case 'use_pool':
        return [t('why.help.use_pool', { pool: name(facts.pool) })];
      case 'limit_runtime':
        return [t('why.help.limit_runtime', { duration: duration(count(facts.seconds)) })];
      case 'wait':
        return [t('why.help.wait', { name: name(facts.workload), duration: duration(count(facts.until) - Date.now() / 1000) })];
      case 'raise_bounds':
        return (facts.raises as Facts[]).map((one) =>
          t('why.help.raise', { bound: one.bound === 'limit' ? t('why.bound.limit') : t('why.bound.guarantee'), queue: name(one.queue), amount: amount(name(one.resource), count(one.by)) }),
        );
      case 'add_nodes':
        return [t('why.help.add_nodes', { count: count(facts.count), like: name(facts.like) })];
      default:
        return [sentence];
    }
  };
}

/** 2.5 GPU, 4 CPU, 8 GiB of a resource in its own unit. */
function useAmount(): (resource: string, value: number) => string {
  const { t } = useTranslation();
  const { number } = useFormat();
  const size = useSize();
  return (resource, value) => {
    if (resource === 'memory_mib') return size(value);
    return resource === 'gpu_milli' ? t('work.needs.fraction', { count: manyAbove(value / 1000), part: number(value / 1000) }) : t('work.needs.cpu', { number: number(value / 1000) });
  };
}
