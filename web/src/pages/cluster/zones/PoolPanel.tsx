import { useQueryClient } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input, InputNumber, Radio, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Pool, Zone } from '../../../api/models';
import { ChangedMeanwhile } from '../../../components/LatestVersion';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useZoneWords } from '../zones';
import { labelLines, labelsOf } from './labels';

const STRENGTHS = ['none', 'hook', 'driver', 'kernel', 'hardware'] as const satisfies readonly Pool['least_strength'][];
const EXAMPLE = 'gpu=h100';

interface Values {
  zone_id?: string;
  name: string;
  labels?: string;
  arrangement: Pool['arrangement'];
  least_strength: Pool['least_strength'];
  unit: number;
  reservations: number;
  priority_across_queues: boolean;
  most_grace_seconds: number;
  most_retries: number;
  most_replicas: number;
  most_hold_seconds: number;
}

const CAPS = [
  { name: 'most_grace_seconds', min: 30, max: 3600 },
  { name: 'most_retries', min: 0, max: 100 },
  { name: 'most_replicas', min: 1, max: 1000 },
  { name: 'most_hold_seconds', min: 0, max: 3600 },
] as const;
const USUAL_CAPS = { most_grace_seconds: 600, most_retries: 10, most_replicas: 256, most_hold_seconds: 600 };

interface Props {
  /** Null for a new one. */
  pool: Pool | null;
  /** That a new one may be in. */
  zones: readonly Zone[];
  zoneId: string | undefined;
  editable: boolean;
  onClose: () => void;
  onDelete?: () => void;
}

/** How work is placed in a pool, and which nodes are in it. */
export function PoolPanel({ pool, zones, zoneId, editable, onClose, onDelete }: Props) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const zoneWords = useZoneWords();
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ labels, unit, zone_id = zoneId, ...rest }: Values) => {
      const fields = {
        ...rest,
        name: rest.name.trim(),
        labels: labelsOf(labels),
        unit_gpu_milli: Math.round(unit * 1000),
      };
      return pool
        ? body(
            client.PATCH('/api/v1/pools/{pool_id}', {
              params: { path: { pool_id: pool.id }, header: ifMatch(pool) },
              body: fields,
            }),
          )
        : body(
            client.POST('/api/v1/pools', {
              params: { header: idempotencyKey() },
              body: { ...fields, zone_id: zone_id ?? '', topologies: [] },
            }),
          );
    },
    () =>
      void Promise.all(
        [keys.pools, keys.nodes, keys.queues].map((queryKey) => queries.invalidateQueries({ queryKey })),
      ).then(onClose),
  );
  const title = pool?.name ?? t('zones.newPool');
  return (
    <SidePanel
      title={title}
      subtitle={pool ? t('zones.inZone', { zone: pool.zone_name }) : t('zones.newPoolNote')}
      onClose={onClose}
    >
      {!editable && <p className="effect">{t('zones.poolNotYours')}</p>}
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        disabled={!editable}
        initialValues={{ ...valuesOf(pool), zone_id: zoneId }}
        aria-label={title}
      >
        <ChangedMeanwhile saving={busy} />
        {error !== null && <ProblemNotice error={error} />}
        {zones.length > 1 && (
          <Form.Item name="zone_id" label={t('zones.newPoolZone')}>
            <Select options={zones.map((one) => ({ value: one.id, label: zoneWords(one) }))} />
          </Form.Item>
        )}
        <Form.Item
          name="name"
          label={t('field.name')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.name') }) }]}
        >
          <Input maxLength={80} autoComplete="off" />
        </Form.Item>
        <Form.Item
          name="labels"
          label={t('zones.labels')}
          extra={t('zones.labelsHint')}
          rules={[
            {
              validator: (_, text: string | undefined) =>
                labelLines(text).every((line) => line.includes('='))
                  ? Promise.resolve()
                  : Promise.reject(new Error(t('zones.labelsRule'))),
            },
          ]}
        >
          <Input.TextArea
            className="mono"
            autoSize={{ minRows: 2, maxRows: 8 }}
            placeholder={EXAMPLE}
            spellCheck={false}
            autoCapitalize="none"
          />
        </Form.Item>
        <Form.Item name="arrangement" label={t('zones.arrangement')}>
          <Radio.Group
            className="stacked"
            options={(['packing', 'spreading'] as const).map((value) => ({
              value,
              label: t(`zones.arrangedLong.${value}`),
            }))}
          />
        </Form.Item>
        <Form.Item name="least_strength" label={t('zones.leastStrength')} extra={t('zones.leastStrengthHint')}>
          <Select options={STRENGTHS.map((value) => ({ value, label: t(`zones.strength.${value}`) }))} />
        </Form.Item>
        <Form.Item name="unit" label={t('zones.unit')} extra={t('zones.unitHint')}>
          <InputNumber min={0.001} max={1} step={0.1} style={{ width: '100%' }} />
        </Form.Item>
        <Form.Item name="reservations" label={t('zones.reservations')} extra={t('zones.reservationsHint')}>
          <InputNumber min={0} max={1000} precision={0} style={{ width: '100%' }} />
        </Form.Item>
        {CAPS.map(({ name, min, max }, index) => (
          <Form.Item
            key={name}
            name={name}
            label={t(`zones.caps.${name}`)}
            extra={index === CAPS.length - 1 && t('zones.capsHint')}
            rules={[{ required: true, message: t('form.needed', { field: t(`zones.caps.${name}`) }) }]}
          >
            <InputNumber min={min} max={max} precision={0} style={{ width: '100%' }} />
          </Form.Item>
        ))}
        <Form.Item name="priority_across_queues" valuePropName="checked">
          <Checkbox>{t('zones.acrossQueues')}</Checkbox>
        </Form.Item>
        {editable && (
          <div className="form-actions">
            <Button type="primary" htmlType="submit" disabled={busy}>
              {pool ? t('zones.savePool') : t('zones.createPool')}
            </Button>
            <Button type="text" onClick={onClose}>
              {t('people.leave')}
            </Button>
            {onDelete && (
              <Button danger className="last" onClick={onDelete}>
                {t('zones.deletePool')}
              </Button>
            )}
          </div>
        )}
      </Form>
    </SidePanel>
  );
}

function valuesOf(pool: Pool | null): Partial<Values> {
  if (!pool)
    return {
      arrangement: 'packing',
      least_strength: 'none',
      unit: 1,
      reservations: 0,
      priority_across_queues: false,
      ...USUAL_CAPS,
    };
  const {
    name,
    labels,
    arrangement,
    least_strength,
    unit_gpu_milli,
    reservations,
    priority_across_queues,
    most_grace_seconds,
    most_retries,
    most_replicas,
    most_hold_seconds,
  } = pool;
  return {
    name,
    labels: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n'),
    arrangement,
    least_strength,
    unit: unit_gpu_milli / 1000,
    reservations,
    priority_across_queues,
    most_grace_seconds,
    most_retries,
    most_replicas,
    most_hold_seconds,
  };
}
