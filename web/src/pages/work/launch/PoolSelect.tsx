import { useQuery } from '@tanstack/react-query';
import { Form, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { poolsQuery } from '../../cluster/queries';

/** Pools in the order of preference; only asked where there is a choice. */
export function PoolSelect() {
  const { t } = useTranslation();
  const { data } = useQuery(poolsQuery);
  if (!data || data.length < 2) return null;
  return (
    <Form.Item name="pools" label={t('zones.pools')} extra={t('launch.poolsHint')}>
      <Select mode="multiple" allowClear placeholder={t('launch.anyPool')} options={data.map(({ name }) => ({ value: name, label: name }))} />
    </Form.Item>
  );
}
