import { useTranslation } from 'react-i18next';
import type { Device } from '../../../api/models';

/** 8 × H100-80GB, simulated. */
export function useDeviceWords(): (devices: readonly Device[]) => string {
  const { t } = useTranslation();
  return (devices) => {
    const counts = new Map<string, number>();
    for (const device of devices) {
      const model = device.model || device.vendor || t('zones.gpu');
      const label = device.simulated ? t('zones.simulatedModel', { model }) : model;
      counts.set(label, (counts.get(label) ?? 0) + 1);
    }
    return [...counts].map(([label, count]) => t('zones.times', { times: count, label })).join(t('people.comma'));
  };
}
