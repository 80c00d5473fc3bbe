import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/format';
import { useAmount, useSize } from './amounts';

type Facts = Record<string, unknown>;
type Say = (key: string, values?: Facts) => string;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const name = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Why work could not run even alone, with what it asks for and what there is; null where the catalogue has no words. */
export function useNeverWords(): (rule: string, facts: Facts, lack: unknown) => string | null {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { number } = useFormat();
  const size = useSize();
  const amount = useAmount();
  const shown: Record<string, (value: number) => string> = { slice_mib: size, memory_mib: size, cpu_milli: (value) => number(value / 1000) };
  return (rule, facts, lack) => {
    if (lack && typeof lack === 'object') {
      const { kind, asked, most, names } = lack as Facts;
      const plain = shown[name(kind)] ?? number;
      const gpus = t('work.needs.gpus', { count: count(asked) });
      const key = `why.lack.${name(kind)}${kind === 'devices' && !count(most) ? '_none' : ''}`;
      if (!i18n.exists(key)) return null;
      return say(key, { asked: plain(count(asked)), most: plain(count(most)), gpus, names: Array.isArray(names) ? names.join(t('work.needs.or')) : '' });
    }
    const key = `why.rule.${rule === 'over_guarantee' && !count(facts.bound) ? 'no_guarantee' : rule}`;
    if (!i18n.exists(key)) return null;
    const resource = name(facts.resource);
    const of = (value: unknown) => (resource ? amount(resource, count(value)) : number(count(value)));
    return say(key, { used: of(facts.used), asked: of(facts.asked), bound: of(facts.bound), queue: name(facts.queue), level: name(facts.level) });
  };
}
