import { useTranslation } from 'react-i18next';
import type { Resource } from '../../api/models';
import { useFormat } from '../../i18n/format';

export const UNLIMITED = -1;
/** How many of the API's unit make one of what people count in. */
const UNITS: Record<Resource, number> = { gpu_milli: 1000, cpu_milli: 1000, memory_mib: 1024 };

/** 2.5 of gpu_milli is 2500; undefined where it is no number. A comma is taken as a point. */
export function readAmount(text: string, resource: Resource): number | undefined {
  const value = Number(text.trim().replace(',', '.'));
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) return undefined;
  return Math.round(value * UNITS[resource]);
}

/** The same backwards, for a field that is edited. */
export const writeAmount = (amount: number, resource: Resource): string =>
  String(Math.round((amount / UNITS[resource]) * 1000) / 1000);

export function useAmounts() {
  const { t } = useTranslation();
  const { language } = useFormat();
  // Three figures say enough: 23.5 GiB, 252 GiB, 0.25 GPUs.
  const plain = (amount: number, resource: Resource): string => {
    const value = amount / UNITS[resource];
    return new Intl.NumberFormat(language, {
      maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2,
    }).format(value);
  };
  return {
    /** 2.5, or 64 with its unit said elsewhere. */
    plain,
    /** 2.5 GPUs, 64 GiB. */
    told: (amount: number, resource: Resource): string =>
      t(`amount.${resource}`, { count: amount / UNITS[resource], amount: plain(amount, resource) }),
    /** A size of memory in its best unit. */
    gib: (mib: number): string => t('amount.memory_mib', { count: mib / 1024, amount: plain(mib, 'memory_mib') }),
  };
}
