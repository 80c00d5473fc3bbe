import { useTranslation } from 'react-i18next';
import type { Verdict, Workload } from '../../api/models';
import { useFormat } from '../../i18n/format';
import { useAmount, useSize } from './amounts';
import { useNeverWords } from './never-words';

type Facts = Record<string, unknown>;
type Say = (key: string, values?: Facts) => string;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const name = (value: unknown): string => (typeof value === 'string' ? value : '');
// What the server says in place of names that one may not know, or that are not there yet.
const unnamed = { 'other work': 'work.others', 'your new queue': 'why.yourQueue' } as const;

function useNamed(): (value: unknown) => string {
  const { t } = useTranslation();
  return (value) => {
    const given = name(value);
    return given in unnamed ? t(unnamed[given as keyof typeof unnamed]) : given;
  };
}

/** The planner's answer in the language in use, made from its facts; what the catalogue does not know keeps the server's words. */
export function useVerdictWords() {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { clock, duration, moment, sentences } = useFormat();
  const amount = useAmount();
  const help = useHelpWords();
  const never = useNeverWords();

  const named = useNamed();

  const facts = (given: Facts) => {
    const resource = name(given.resource);
    const number = (value: unknown) => (resource ? amount(resource, count(value)) : String(count(value)));
    return {
      used: number(given.used),
      asked: number(given.asked),
      bound: number(given.bound),
      needed: number(count(given.used) + count(given.asked)),
      queue: named(given.queue),
      keeper: named(given.kept_for) || t('work.others'),
      hold: name(given.hold),
      level: name(given.level),
      nodes: Array.isArray(given.nodes) ? given.nodes.join(', ') : '',
    };
  };
  const known = (key: string, given: Facts): string | null => (i18n.exists(key) ? say(key, facts(given)) : null);
  const reason = (kind: string, given: Facts): string | null => known(`why.reason.${variantOf(kind, given)}`, given);
  const remedy = (kind: string, given: Facts): string | null => known(`why.remedy.${kind}`, given);

  return {
    /** Fits, waits or never, and why. */
    sentence: (
      verdict: Pick<Verdict, 'result' | 'nodes' | 'takes_from' | 'reason' | 'lack' | 'sentence'> &
        Partial<Pick<Verdict, 'takes_by'>>,
    ): string => {
      if (verdict.result === 'fits')
        return verdict.nodes.length > 0 ? t('why.fitsOn', { nodes: verdict.nodes.join(', ') }) : t('why.fits');
      if (verdict.result === 'waits' && verdict.takes_from.length > 0)
        return say(
          `why.takes.${i18n.exists(`why.takes.${name(verdict.takes_by)}`) ? name(verdict.takes_by) : 'other'}`,
          { names: verdict.takes_from.map(named).join(t('people.comma')) },
        );
      const kind = name(verdict.reason?.kind);
      const told = verdict.reason && { ...verdict.reason, queue: named(verdict.reason.queue) };
      const because = told && ((verdict.result === 'never' && never(kind, told, verdict.lack)) || reason(kind, told));
      if (!verdict.reason || !because) return verdict.sentence;
      return sentences([
        verdict.result === 'never' ? t('why.never', { reason: because }) : t('why.waits', { reason: because }),
        remedy(kind, verdict.reason),
      ]);
    },
    /** Why waiting work has no place yet, in a list: the rule, what to do, its turn, and when. */
    waiting: (waits: NonNullable<Workload['waits']>): string => {
      if (waits.kind === 'pause') return t('why.pause', { time: clock(name(waits.facts.until), true) });
      const because = reason(waits.kind, waits.facts);
      const turn = waits.in_queue;
      return sentences([
        because ? t('why.waits', { reason: because }) : waits.sentence,
        because && remedy(waits.kind, waits.facts),
        turn && turn.of > 1 && `${t('why.inQueue', { number: turn.number, total: turn.of })}${t('launch.stop')}`,
        waits.starts_at && t('why.startsAt', { time: moment(waits.starts_at) }),
      ]);
    },
    /** When it will probably start, or honestly that nobody knows. */
    when: (verdict: Verdict): string | undefined => {
      if (verdict.result !== 'waits') return undefined;
      if (verdict.starts_at)
        return typeof verdict.error_seconds !== 'number'
          ? undefined
          : t('why.startsAbout', { time: moment(verdict.starts_at), error: duration(verdict.error_seconds) });
      if (verdict.no_estimate === 'passed') return t('why.passed');
      if (verdict.no_estimate === 'uncertain') return t('why.uncertain');
      return verdict.no_estimate === 'too_far_back' ? t('why.tooFar') : t('why.noEstimate');
    },
    about: (verdict: Verdict): string | undefined =>
      verdict.starts_at && typeof verdict.error_seconds === 'number'
        ? t('why.about', {
            time: moment(verdict.starts_at),
            duration: duration((Date.parse(verdict.starts_at) - Date.parse(verdict.at)) / 1000),
          })
        : undefined,
    asOf: (verdict: Verdict): string => t('why.asOf', { time: clock(verdict.at, true) }),
    /** On how many nodes which check failed. */
    checks: (verdict: Verdict): { nodes: string; what: string }[] =>
      Object.entries((verdict.reason?.failed_checks ?? {}) as Record<string, number>).map(([check, nodes]) => ({
        nodes: t('why.nodes', { count: nodes }),
        what: i18n.exists(`why.check.${check}`) ? say(`why.check.${check}`) : check,
      })),
    helps: (verdict: Verdict): string[] => verdict.helps.flatMap(help),
  };
}

/** One rule may need other words, by its numbers. */
function variantOf(kind: string, facts: Facts): string {
  if (kind === 'no_room' && count(facts.asked) > 1) return 'gang';
  if (kind === 'over_guarantee' && count(facts.asked) > count(facts.bound)) return 'over_guarantee_short';
  if (kind === 'held' && typeof facts.hold === 'string' && facts.hold.startsWith('restart-')) return 'restart_held';
  return kind;
}

function useHelpWords(): (one: Verdict['helps'][number]) => string[] {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { duration, number } = useFormat();
  const size = useSize();
  const amount = useAmount();
  const named = useNamed();
  return ({ kind, facts, sentence }) => {
    switch (kind) {
      case 'make_preemptible':
        return [t('why.help.make_preemptible')];
      case 'lower_minimum':
        return [t('why.help.lower_minimum', { count: count(facts.minimum) })];
      case 'ask_for_less':
        if (facts.what === 'devices')
          return [t('why.help.devices', { gpus: t('work.needs.gpus', { count: count(facts.amount) }) })];
        if (facts.what === 'cpu_milli')
          return [t('why.help.cpu_milli', { number: number(count(facts.amount) / 1000) })];
        if (facts.what === 'slice_mib') return [t('why.help.slice_mib', { size: size(count(facts.amount)) })];
        return [t('why.help.memory_mib', { size: size(count(facts.amount)) })];
      case 'drop_condition':
        return [
          i18n.exists(`why.help.${name(facts.what)}`)
            ? say(`why.help.${name(facts.what)}`, { name: name(facts.name) })
            : sentence,
        ];
      case 'use_pool':
        return [t('why.help.use_pool', { pool: name(facts.pool) })];
      case 'limit_runtime':
        return [t('why.help.limit_runtime', { duration: duration(count(facts.seconds)) })];
      case 'wait':
        return [
          t('why.help.wait', {
            name: named(facts.workload),
            duration: duration(count(facts.until) - Date.now() / 1000),
          }),
        ];
      case 'raise_bounds':
        return (facts.raises as Facts[]).map((one) =>
          t('why.help.raise', {
            bound: one.bound === 'limit' ? t('why.bound.limit') : t('why.bound.guarantee'),
            queue: named(one.queue),
            amount: amount(name(one.resource), count(one.by)),
          }),
        );
      case 'add_nodes':
        return [t('why.help.add_nodes', { count: count(facts.count), like: name(facts.like) })];
      default:
        return [sentence];
    }
  };
}
