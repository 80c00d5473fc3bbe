import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Zone } from '../../api/models';
import { useMay } from '../../api/session';
import { zonesQuery } from './queries';

/** Whether things are said to be of a zone: only where there is a choice. */
export function useZones(): { zones: Zone[] | undefined; several: boolean } {
  const may = useMay();
  const { data } = useQuery({ ...zonesQuery, enabled: may('zones.read') });
  return { zones: data, several: (data?.length ?? 0) > 1 };
}

/** Pools of two zones may be called alike: then the zone is said too. */
export function usePoolWords(several: boolean): (zone: string, pool: string) => string {
  const { t } = useTranslation();
  return (zone, pool) => (several ? t('zones.poolOf', { zone, pool }) : pool);
}

/** lab, simulated. */
export function useZoneWords(): (zone: Pick<Zone, 'name' | 'simulated'>) => string {
  const { t } = useTranslation();
  return ({ name, simulated }) => (simulated ? t('zones.simulatedZone', { zone: name }) : name);
}
