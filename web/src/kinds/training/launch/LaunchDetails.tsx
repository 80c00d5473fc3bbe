import { Checkbox, Form, Input, InputNumber, Segmented, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay, useMe } from '../../../api/session';
import { Fold } from '../../../components/Fold';
import { useFormat } from '../../../i18n/format';
import { OrganisationSelect } from '../../../pages/organisation/OrganisationSelect';
import { usePlaces } from '../../../pages/organisation/places';
import { useRunPlaces } from '../../../pages/work/run-places';
import { PairList } from './PairList';
import { PoolSelect } from './PoolSelect';
import { PortFields } from './PortFields';
import { RuntimeSelect } from './RuntimeSelect';
import { SecretList } from './SecretList';
import { GRACE_SECONDS, pairs, type Values } from './values';

/** What is usually left as it is: each line says how it stands, and opens. */
export function LaunchDetails({ values }: { values: Values }) {
  const { t } = useTranslation();
  return (
    <div className="launch-details" role="group" aria-label={t('launch.details')}>
      <h2 className="small text-2">{t('launch.details')}</h2>
      <Copies values={values} />
      <Python values={values} />
      <Fold title={t('launch.parameters')} summary={named(values.given) || t('launch.none')}>
        <PairList
          name="given"
          title={t('launch.parameters')}
          hint={t('launch.parametersHint')}
          add={t('launch.addParameter')}
        />
      </Fold>
      <Fold title={t('launch.variables')} summary={named(values.variables) || t('launch.none')}>
        <PairList name="variables" title={t('launch.variables')} add={t('launch.addVariable')} />
      </Fold>
      <Fold title={t('menu.secrets')} summary={named(values.hidden) || t('launch.none')}>
        <SecretList />
      </Fold>
      <PortFields values={values} />
      <Times values={values} />
      <Share values={values} />
    </div>
  );
}

const named = (list: Values['given']): string => Object.keys(pairs(list)).join(', ');

/** How many, and how each runs the command. */
function Copies({ values }: { values: Values }) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const parts = [number(values.replicas ?? 1), values.launch === 'torchrun' && t('launch.perGpu')].filter(Boolean);
  return (
    <Fold title={t('launch.replicas')} summary={parts.join(t('work.comma'))}>
      <div className="number-fields">
        <Form.Item name="replicas" label={t('launch.replicas')} extra={t('launch.replicasHint')}>
          <InputNumber min={1} max={1000} precision={0} />
        </Form.Item>
        <Form.Item
          name="launch"
          label={t('launch.how')}
          extra={values.launch === 'torchrun' ? t('launch.torchrunHint') : t('launch.plainHint')}
        >
          <Segmented<string>
            options={[
              { value: 'plain', label: t('launch.plain') },
              { value: 'torchrun', label: t('launch.torchrun') },
            ]}
            aria-label={t('launch.how')}
          />
        </Form.Item>
      </div>
    </Fold>
  );
}

/** What the command finds around it. */
function Python({ values }: { values: Values }) {
  const { t } = useTranslation();
  const parts = [
    values.runtime ?? t('launch.systemPython'),
    values.home && t('launch.withHome'),
    !values.network && t('launch.noNetwork'),
  ].filter(Boolean);
  return (
    <Fold title={t('launch.surroundings')} summary={parts.join(t('work.comma'))}>
      <RuntimeSelect />
      <Form.Item name="home" valuePropName="checked" className="tight">
        <Checkbox>{t('launch.home')}</Checkbox>
      </Form.Item>
      <Form.Item name="network" valuePropName="checked">
        <Checkbox>{t('launch.network')}</Checkbox>
      </Form.Item>
    </Fold>
  );
}

function Times({ values }: { values: Values }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  const limit = values.time_limit_seconds?.trim();
  const parts = [
    limit ? t('launch.limitOf', { limit }) : t('launch.noLimit'),
    values.retries ? t('launch.triedAgain', { count: values.retries }) : t('launch.notAgain'),
    Boolean(values.hold_seconds) && t('launch.holdOf', { duration: duration(values.hold_seconds ?? 0) }),
    (values.grace_seconds ?? GRACE_SECONDS) !== GRACE_SECONDS &&
      t('launch.graceOf', { duration: duration(values.grace_seconds ?? 0) }),
  ].filter(Boolean);
  return (
    <Fold title={t('launch.times')} summary={parts.join(t('work.comma'))}>
      <div className="number-fields">
        <Form.Item name="time_limit_seconds" label={t('launch.timeLimit')} extra={t('launch.timeLimitHint')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
        <Form.Item name="retries" label={t('launch.retries')}>
          <InputNumber min={0} max={100} precision={0} />
        </Form.Item>
        <Form.Item name="hold_seconds" label={t('launch.hold')} extra={t('launch.holdHint')}>
          <InputNumber min={0} max={3600} precision={0} />
        </Form.Item>
        <Form.Item name="grace_seconds" label={t('launch.grace')} extra={t('launch.graceHint')}>
          <InputNumber min={0} max={3600} precision={0} />
        </Form.Item>
      </div>
    </Fold>
  );
}

/** Whose share it uses, where, and what it gives way to. */
function Share({ values }: { values: Values }) {
  const { t } = useTranslation();
  const may = useMay();
  const me = useMe();
  const { crumb } = usePlaces();
  const { several } = useRunPlaces();
  const parts = [
    values.organisation_id && crumb(values.organisation_id),
    values.pools && values.pools.length > 0 && values.pools.join(', '),
    values.priority && t('launch.priorityOf', { priority: values.priority }),
    !values.preemptible && t('launch.stays'),
  ].filter(Boolean);
  return (
    <Fold title={t('launch.share')} summary={parts.join(t('work.comma'))}>
      {several && (
        <Form.Item name="organisation_id" label={t('launch.organisation')}>
          <OrganisationSelect needs="workloads.run" />
        </Form.Item>
      )}
      {may('zones.read') && <PoolSelect values={values} />}
      <Form.Item name="priority" label={t('queues.priority')} extra={t('launch.priorityHint')}>
        <Select
          allowClear
          placeholder={t('launch.priorityOwn', { priority: me.priority })}
          options={Array.from({ length: me.priority }, (_, index) => ({ value: index + 1, label: String(index + 1) }))}
        />
      </Form.Item>
      <Form.Item
        name="preemptible"
        valuePropName="checked"
        extra={values.preemptible ? undefined : t('launch.staysHint')}
      >
        <Checkbox>{t('launch.preemptible')}</Checkbox>
      </Form.Item>
    </Fold>
  );
}
