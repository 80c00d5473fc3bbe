import { useQuery } from '@tanstack/react-query';
import { Form, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { poolsQuery } from '../../../pages/cluster/queries';
import { useZones } from '../../../pages/cluster/zones';
import { poolNames, type Values } from './values';

/** Pools in the order of preference; only asked where there is a choice. */
export function PoolSelect({ values }: { values: Pick<Values, 'zone' | 'simulated'> }) {
  const { t } = useTranslation();
  const { data } = useQuery(poolsQuery);
  const { zones } = useZones();
  const names = poolNames(data ?? [], zones ?? [], values);
  if (names.length < 2) return null;
  return (
    <Form.Item name="pools" label={t('zones.pools')} extra={t('launch.poolsHint')}>
      <Select
        mode="multiple"
        allowClear
        placeholder={t('launch.anyPool')}
        options={names.map((name) => ({ value: name, label: name }))}
      />
    </Form.Item>
  );
}
