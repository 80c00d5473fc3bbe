import { Button, Form, Input, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import type { Runtime } from '../../../api/models';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../../organisation/OrganisationSelect';
import { useRunPlaces } from '../../work/run-places';
import { useZones } from '../../cluster/zones';
import { requirementsOf } from './words';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const EXAMPLE = 'numpy>=2\nscikit-learn';

interface Values {
  name: string;
  requirements?: string;
  organisation_id?: string;
  zone?: string;
}

/** A new runtime, or the next version of one that is there; building it begins at once. */
export function RuntimeForm({
  like,
  runtimes,
  onMade,
  onClose,
}: {
  like: Runtime | undefined;
  runtimes: Runtime[];
  onMade: (runtime: Runtime) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const { several, home } = useRunPlaces();
  const { zones } = useZones();
  // Nothing is built in a simulation.
  const real = (zones ?? []).filter((zone) => !zone.simulated);
  const [form] = Form.useForm<Values>();
  const name = Form.useWatch('name', form)?.trim();
  const newest = Math.max(0, ...runtimes.filter((one) => one.name === name).map((one) => one.version));
  const { submit, busy, error } = useSubmit(
    form,
    (values: Values) =>
      body(
        client.POST('/api/v1/runtimes', {
          params: { header: idempotencyKey() },
          body: {
            name: values.name.trim(),
            requirements: requirementsOf(values.requirements),
            organisation_id: values.organisation_id ?? null,
            zone: values.zone ?? null,
            build: true,
          },
        }),
      ),
    onMade,
  );
  const title = like ? t('runtimes.nextOf', { name: like.name }) : t('runtimes.new');
  return (
    <SidePanel title={title} subtitle={t('runtimes.newNote')} onClose={onClose}>
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        aria-label={title}
        initialValues={{
          name: like?.name,
          requirements: like?.requirements.join('\n'),
          organisation_id: several ? home : undefined,
        }}
      >
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="name"
          label={t('field.name')}
          extra={newest > 0 ? t('runtimes.becomes', { label: `${name}:${newest + 1}` }) : t('runtimes.nameHint')}
          rules={[
            { required: true, whitespace: true, message: t('form.needed', { field: t('field.name') }) },
            { pattern: NAME, message: t('secrets.nameRule') },
          ]}
        >
          <Input maxLength={100} autoComplete="off" spellCheck={false} autoCapitalize="none" />
        </Form.Item>
        <Form.Item name="requirements" label={t('runtimes.packages')} extra={t('runtimes.packagesHint')}>
          <Input.TextArea
            className="mono"
            autoSize={{ minRows: 6, maxRows: 18 }}
            placeholder={EXAMPLE}
            autoComplete="off"
            spellCheck={false}
            autoCapitalize="none"
          />
        </Form.Item>
        {several && (
          <Form.Item name="organisation_id" label={t('launch.organisation')}>
            <OrganisationSelect needs="workloads.run" />
          </Form.Item>
        )}
        {real.length > 1 && (
          <Form.Item name="zone" label={t('zones.zone')} extra={t('runtimes.zoneHint')}>
            <Select
              allowClear
              placeholder={real[0]?.name}
              options={real.map((zone) => ({ value: zone.id, label: zone.name }))}
            />
          </Form.Item>
        )}
        <p className="effect">{t('runtimes.buildEffect')}</p>
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {t('runtimes.build')}
          </Button>
          <Button type="text" onClick={onClose}>
            {t('people.leave')}
          </Button>
        </div>
      </Form>
    </SidePanel>
  );
}
