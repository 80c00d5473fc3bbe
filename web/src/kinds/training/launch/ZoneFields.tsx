import { Form, Input, InputNumber, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { useZones, useZoneWords } from '../../../pages/cluster/zones';
import { ANY, ANY_SIMULATED, type Values } from './values';

/** Where it runs, where there is a choice; in a simulated zone, how long it takes and how it ends. */
export function ZoneFields({ values }: { values: Values }) {
  const { t } = useTranslation();
  const { zones = [], several } = useZones();
  const words = useZoneWords();
  const simulated = zones.filter((one) => one.simulated);
  const options = [
    { value: ANY, label: t('launch.anyZone') },
    ...zones.map((one) => ({ value: one.name, label: words(one) })),
    ...(simulated.length > 1 || values.zone === ANY_SIMULATED
      ? [{ value: ANY_SIMULATED, label: t('launch.anySimulated') }]
      : []),
  ];
  return (
    <>
      {(several || values.zone !== ANY) && (
        <Form.Item
          name="zone"
          label={t('launch.zone')}
          extra={values.simulated ? t('launch.simulatedHint') : values.zone === ANY ? t('launch.zoneHint') : undefined}
        >
          <Select options={options} />
        </Form.Item>
      )}
      {values.simulated && (
        <div className="number-fields">
          <Form.Item
            name={['simulation', 'duration']}
            label={t('launch.simulatedFor')}
            extra={t('launch.simulatedForHint')}
            rules={[
              { required: true, whitespace: true, message: t('form.needed', { field: t('launch.simulatedFor') }) },
            ]}
          >
            <Input maxLength={20} autoComplete="off" />
          </Form.Item>
          <Form.Item name={['simulation', 'exit_code']} label={t('launch.endsWith')} extra={t('launch.endsWithHint')}>
            <InputNumber min={0} max={255} precision={0} />
          </Form.Item>
        </div>
      )}
    </>
  );
}
