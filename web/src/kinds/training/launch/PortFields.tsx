import { Form, Input, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { Fold } from '../../../components/Fold';
import type { Values } from './values';

/** On which ports it listens, and when a replica counts as ready. The API reads both as they are typed. */
export function PortFields({ values }: { values: Values }) {
  const { t } = useTranslation();
  const ready = values.readiness?.trim();
  const parts = [
    ...(values.ports ?? []),
    ready ? t('launch.readyWhen', { check: ready }) : values.ports?.length ? t('launch.readyAtOnce') : t('launch.none'),
  ];
  return (
    <Fold title={t('launch.ports')} summary={parts.join(t('work.comma'))}>
      <Form.Item name="ports" label={t('launch.portNumbers')} extra={t('launch.portsHint')}>
        <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[',', ' ']} maxCount={16} />
      </Form.Item>
      <Form.Item name="readiness" label={t('launch.readiness')} extra={t('launch.readinessHint')}>
        <Input maxLength={600} autoComplete="off" />
      </Form.Item>
    </Fold>
  );
}
