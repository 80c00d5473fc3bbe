import { useTranslation } from 'react-i18next';
import type { Flavor } from '../../../api/models';
import { useAmounts } from '../../cluster/amounts';

export type Gpu = NonNullable<Flavor['gpu']>;
/** How the GPU part of a flavor is sized. */
export const SIZES = ['none', 'whole', 'memory', 'fraction', 'profile'] as const;
export type Size = (typeof SIZES)[number];

export const sizeOf = (gpu: Flavor['gpu']): Size =>
  !gpu
    ? 'none'
    : gpu.memory_mib != null
      ? 'memory'
      : gpu.fraction_milli != null
        ? 'fraction'
        : gpu.profile != null
          ? 'profile'
          : 'whole';

/** 2 whole, 1 × 8 GiB, 1 × 25 %, 1 × 1g.10gb. */
export function useGpuWords(): (gpu: Flavor['gpu']) => string {
  const { t } = useTranslation();
  const { gib } = useAmounts();
  return (gpu) => {
    if (!gpu) return '';
    const label = {
      none: '',
      whole: t('flavors.whole'),
      memory: gib(gpu.memory_mib ?? 0),
      fraction: t('flavors.percent', { percent: (gpu.fraction_milli ?? 0) / 10 }),
      profile: gpu.profile ?? '',
    }[sizeOf(gpu)];
    return t('zones.times', { times: gpu.count, label });
  };
}
