import { useTranslation } from 'react-i18next';
import type { Flavor } from '../../api/models';
import { useFormat } from '../../i18n/format';
import { useAmount, useSize } from './amounts';

type Facts = Record<string, unknown>;
type Say = (key: string, values?: Facts) => string;

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const name = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What is asked for and what there is; null where the catalogue has no words. */
function useLackWords(): (lack: object) => string | null {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { number } = useFormat();
  const size = useSize();
  const shown: Record<string, (value: number) => string> = {
    slice_mib: size,
    memory_mib: size,
    cpu_milli: (value) => number(value / 1000),
  };
  return (lack) => {
    const { kind, asked, most, names, restricted } = lack as Facts;
    const plain = shown[name(kind)] ?? number;
    const gpus = t('work.needs.gpus', { count: count(asked) });
    const key = `why.lack.${name(kind)}${(kind === 'devices' || kind === 'usable_devices') && !count(most) ? '_none' : ''}`;
    if (!i18n.exists(key)) return null;
    const where = Object.fromEntries(
      ['largest', 'none', 'noGpu', 'every'].map((word) => [
        word,
        say(`why.lackWhere.${word}${restricted ? 'Open' : ''}`),
      ]),
    );
    return say(key, {
      ...where,
      asked: plain(count(asked)),
      most: plain(count(most)),
      gpus,
      names: Array.isArray(names) ? names.join(t('work.needs.or')) : '',
    });
  };
}

/** Why a flavor fits on no node; null for one that fits. */
export function useFlavorLack(): (flavor: Pick<Flavor, 'lack'>) => string | null {
  const { t } = useTranslation();
  const words = useLackWords();
  return ({ lack }) => {
    const reason = lack && words(lack);
    return reason ? t('flavors.lack', { reason }) : (lack?.sentence ?? null);
  };
}

/** Why work could not run even alone, with what it asks for and what there is; null where the catalogue has no words. */
export function useNeverWords(): (rule: string, facts: Facts, lack: unknown) => string | null {
  const { t, i18n } = useTranslation();
  const say = t as unknown as Say;
  const { number } = useFormat();
  const amount = useAmount();
  const lackWords = useLackWords();
  return (rule, facts, lack) => {
    if (lack && typeof lack === 'object') return lackWords(lack);
    const key = `why.rule.${rule === 'over_guarantee' && !count(facts.bound) ? 'no_guarantee' : rule}`;
    if (!i18n.exists(key)) return null;
    const resource = name(facts.resource);
    const of = (value: unknown) => (resource ? amount(resource, count(value)) : number(count(value)));
    return say(key, {
      used: of(facts.used),
      asked: of(facts.asked),
      bound: of(facts.bound),
      queue: name(facts.queue),
      level: name(facts.level),
    });
  };
}
