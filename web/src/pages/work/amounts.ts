import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/format';

const MIB = 1024 ** 2;

/** 0.5 GPU and 1 GPU, yet 1.5 GPUs. */
export const manyAbove = (value: number): number => (value > 1 ? 2 : 1);

/** 8 GiB, 256 MiB: from mebibytes, in the unit in which it is a small number. */
export function useSize(): (mebibytes: number) => string {
  const { gibibytes, number } = useFormat();
  return (mebibytes) => (mebibytes >= 1024 ? gibibytes(mebibytes * MIB) : `${number(mebibytes)}\u00a0MiB`);
}

/** 2.5 GPU, 4 CPU, 8 GiB of a resource in its own unit. */
export function useAmount(): (resource: string, value: number) => string {
  const { t } = useTranslation();
  const { number } = useFormat();
  const size = useSize();
  return (resource, value) => {
    if (resource === 'memory_mib') return size(value);
    return resource === 'gpu_milli'
      ? t('work.needs.fraction', { count: manyAbove(value / 1000), part: number(value / 1000) })
      : t('work.needs.cpu', { number: number(value / 1000) });
  };
}
