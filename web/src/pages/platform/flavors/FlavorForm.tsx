import { useQueryClient } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input, InputNumber, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Flavor } from '../../../api/models';
import { ChangedMeanwhile } from '../../../components/LatestVersion';
import { SidePanel } from '../../../components/SidePanel';
import { Notice, ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { usePlaces } from '../../organisation/places';
import { useFlavorLack } from '../../work/never-words';
import { useKindWords } from '../../work/words';
import { useFlavorDescription } from './description';
import { SIZES, sizeOf, type Gpu, type Size } from './gpu';

interface Values {
  name: string;
  description?: string;
  cpus: number;
  memory_gib: number;
  size: Size;
  count?: number;
  slice_gib?: number;
  percent?: number;
  profile?: string;
  models?: string[];
  organisation_ids: string[];
  kinds: string[];
  enabled: boolean;
}

interface Props {
  /** Those that a flavor can be offered for. */
  kinds: readonly string[];
  /** Null for a new one. */
  changed: Flavor | null;
  onDone: (made: Flavor) => void;
  onClose: () => void;
  onDelete: (() => void) | undefined;
}

/** A new flavor or a changed one; one that others manage is only looked at. */
export function FlavorForm({ kinds, changed: flavor, onDone, onClose, onDelete }: Props) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { nodes, crumb, heldOn } = usePlaces();
  const [form] = Form.useForm<Values>();
  const size = Form.useWatch('size', form) ?? sizeOf(flavor?.gpu ?? null);
  const description = useFlavorDescription();
  const shown = flavor ? description(flavor) : '';
  const kindWords = useKindWords();
  const lack = useFlavorLack()(flavor ?? { lack: null });
  const editable = flavor === null || flavor.may_change;
  const offered = nodes.filter((node) => heldOn(node.id).has('flavors.manage'));
  const { submit, busy, error } = useSubmit(
    form,
    (values: Values) => {
      const fields = {
        name: values.name.trim(),
        // Corral's own words stay what they are for readers of other languages.
        description: flavor && values.description === shown ? flavor.description : (values.description?.trim() ?? ''),
        cpu_milli: Math.round(values.cpus * 1000),
        memory_mib: Math.round(values.memory_gib * 1024),
        gpu: gpuOf(values, flavor?.gpu ?? null),
        organisation_ids: values.organisation_ids,
        kinds: values.kinds,
        enabled: values.enabled,
      };
      return flavor
        ? body(
            client.PATCH('/api/v1/flavors/{flavor_id}', {
              params: { path: { flavor_id: flavor.id }, header: ifMatch(flavor) },
              body: fields,
            }),
          )
        : body(client.POST('/api/v1/flavors', { params: { header: idempotencyKey() }, body: fields }));
    },
    (made) => void queries.invalidateQueries({ queryKey: keys.flavors }).then(() => onDone(made)),
  );
  const needed = (field: string) => [{ required: true, message: t('form.needed', { field }) }];
  return (
    <SidePanel
      title={flavor?.name ?? t('flavors.new')}
      subtitle={flavor?.preset ? t('flavors.preset') : undefined}
      onClose={onClose}
    >
      {lack && (
        <Notice tone="warning">
          {lack} {t('flavors.lackEffect')}
        </Notice>
      )}
      {!editable && <p className="effect">{t('flavors.notYours')}</p>}
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        disabled={!editable}
        initialValues={valuesOf(flavor, shown, offered[0]?.id)}
        aria-label={flavor?.name ?? t('flavors.new')}
      >
        <ChangedMeanwhile saving={busy} />
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="name"
          label={t('flavors.name')}
          extra={t('flavors.nameHint')}
          rules={needed(t('flavors.name'))}
        >
          <Input maxLength={60} autoComplete="off" />
        </Form.Item>
        <Form.Item name="description" label={t('flavors.description')}>
          <Input maxLength={400} />
        </Form.Item>
        <div className="pair" style={{ gridTemplateColumns: '1fr 1fr' }}>
          <Form.Item name="cpus" label={t('flavors.cpus')} rules={needed(t('flavors.cpus'))}>
            <InputNumber min={0.001} max={10000} style={{ width: '100%' }} />
          </Form.Item>
          <Form.Item name="memory_gib" label={t('flavors.memoryGib')} rules={needed(t('flavors.memory'))}>
            <InputNumber min={0.001} max={900000} style={{ width: '100%' }} />
          </Form.Item>
        </div>
        <Form.Item name="size" label={t('flavors.gpus')}>
          <Select options={SIZES.map((one) => ({ value: one, label: t(`flavors.size.${one}`) }))} />
        </Form.Item>
        {size !== 'none' && (
          <div className="pair" style={{ gridTemplateColumns: '1fr 1fr' }}>
            <Form.Item
              name="count"
              label={size === 'whole' ? t('flavors.howMany') : t('flavors.slices')}
              rules={needed(t('flavors.howMany'))}
            >
              <InputNumber min={1} max={1024} precision={0} style={{ width: '100%' }} />
            </Form.Item>
            {size === 'memory' && (
              <Form.Item name="slice_gib" label={t('flavors.sliceGib')} rules={needed(t('flavors.sliceGib'))}>
                <InputNumber min={0.001} max={10000} style={{ width: '100%' }} />
              </Form.Item>
            )}
            {size === 'fraction' && (
              <Form.Item name="percent" label={t('flavors.slicePercent')} rules={needed(t('flavors.slicePercent'))}>
                <InputNumber min={0.1} max={100} style={{ width: '100%' }} />
              </Form.Item>
            )}
            {size === 'profile' && (
              <Form.Item name="profile" label={t('flavors.profile')} rules={needed(t('flavors.profile'))}>
                <Input maxLength={40} />
              </Form.Item>
            )}
          </div>
        )}
        {size !== 'none' && (
          <Form.Item name="models" label={t('flavors.models')} extra={t('flavors.modelsHint')}>
            <Select mode="tags" open={false} suffixIcon={null} />
          </Form.Item>
        )}
        <Form.Item
          name="organisation_ids"
          label={t('flavors.for')}
          extra={t('flavors.forHint')}
          rules={needed(t('flavors.for'))}
        >
          <Select
            mode="multiple"
            popupMatchSelectWidth={false}
            optionFilterProp="label"
            options={offered.map((node) => ({ value: node.id, label: crumb(node.id) }))}
          />
        </Form.Item>
        <Form.Item name="kinds" label={t('flavors.kinds')} extra={t('flavors.kindsHint')}>
          <Select mode="multiple" options={kinds.map((kind) => ({ value: kind, label: kindWords(kind) }))} />
        </Form.Item>
        <Form.Item name="enabled" valuePropName="checked">
          <Checkbox>{t('flavors.canBeChosen')}</Checkbox>
        </Form.Item>
        {flavor && <p className="effect">{t('flavors.effect')}</p>}
        {editable && (
          <div className="form-actions">
            <Button type="primary" htmlType="submit" disabled={busy}>
              {flavor ? t('flavors.save') : t('flavors.create')}
            </Button>
            <Button type="text" onClick={onClose}>
              {t('people.leave')}
            </Button>
            {onDelete && (
              <Button danger type="text" onClick={onDelete}>
                {t('flavors.delete')}
              </Button>
            )}
          </div>
        )}
      </Form>
    </SidePanel>
  );
}

function valuesOf(flavor: Flavor | null, description: string, first: string | undefined): Partial<Values> {
  if (!flavor) return { size: 'none', count: 1, enabled: true, kinds: [], organisation_ids: first ? [first] : [] };
  const { gpu } = flavor;
  return {
    name: flavor.name,
    description,
    cpus: flavor.cpu_milli / 1000,
    memory_gib: flavor.memory_mib / 1024,
    size: sizeOf(gpu),
    count: gpu?.count ?? 1,
    slice_gib: gpu?.memory_mib != null ? gpu.memory_mib / 1024 : undefined,
    percent: gpu?.fraction_milli != null ? gpu.fraction_milli / 10 : undefined,
    profile: gpu?.profile ?? undefined,
    models: gpu?.models ?? [],
    organisation_ids: flavor.organisations.map((one) => one.id),
    kinds: flavor.kinds,
    enabled: flavor.enabled,
  };
}

/** What the form does not show stays as it was while the way of sizing does. */
function gpuOf({ size, count, slice_gib, percent, profile, models }: Values, before: Flavor['gpu']): Gpu | null {
  if (size === 'none') return null;
  return {
    ...(before && sizeOf(before) === size
      ? { compute_percent: before.compute_percent, mode: before.mode }
      : { compute_percent: 0 }),
    count: count ?? 1,
    models: models ?? [],
    ...(size === 'memory' ? { memory_mib: Math.round((slice_gib ?? 0) * 1024) } : {}),
    ...(size === 'fraction' ? { fraction_milli: Math.round((percent ?? 0) * 10) } : {}),
    ...(size === 'profile' ? { profile: profile?.trim() ?? '' } : {}),
  };
}
