import { Segmented, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Zone } from '../../../api/models';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import { useZoneWords } from '../zones';

const ALL = 'all';
/** So many stand side by side. */
const MOST_IN_SIGHT = 4;

/** Of which zone nodes, devices and pools are shown; in the address. */
export function ZoneSwitch({ zones, chosen }: { zones: readonly Zone[]; chosen: Zone | undefined }) {
  const { t } = useTranslation();
  const phone = usePhone();
  const words = useZoneWords();
  const [, change] = useUrlState();
  const options = [
    { value: ALL, label: t('zones.allZones') },
    ...zones.map((zone) => ({ value: zone.id, label: words(zone) })),
  ];
  const choose = (value: string) =>
    change({ zone: value === ALL ? undefined : value, node: undefined, pool: undefined });
  const value = chosen?.id ?? ALL;
  return (
    <div className="filters">
      {phone || zones.length > MOST_IN_SIGHT ? (
        <Select
          aria-label={t('zones.zone')}
          popupMatchSelectWidth={false}
          value={value}
          options={options}
          onChange={choose}
        />
      ) : (
        <Segmented<string> aria-label={t('zones.zone')} value={value} options={options} onChange={choose} />
      )}
    </div>
  );
}
