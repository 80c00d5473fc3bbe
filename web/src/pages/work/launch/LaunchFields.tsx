import { Button, Checkbox, Form, Input, InputNumber, Segmented } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '../../../api/session';
import { CloseIcon, PlusIcon } from '../../../components/icons';
import { OrganisationSelect } from '../../organisation/OrganisationSelect';
import { usePlaces } from '../../organisation/places';
import { FilesField } from './FilesField';
import { FlavorChoice } from './FlavorChoice';
import { shellWords } from './shell-words';
import { VARIABLE, type Values } from './values';

const EXAMPLE = 'python train.py';

export function LaunchFields({ values, onDefault }: { values: Values; onDefault: (change: Partial<Values>) => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const { nodes, heldOn } = usePlaces();
  const several = nodes.filter(({ id }) => heldOn(id).has('workloads.run')).length > 1;
  const needed = (field: string) => ({ required: true, whitespace: true, message: t('form.needed', { field }) });
  return (
    <>
      <Form.Item name="name" label={t('launch.name')} rules={[needed(t('launch.name'))]}>
        <Input maxLength={80} autoComplete="off" spellCheck={false} />
      </Form.Item>
      <Form.Item
        name="command"
        label={t('launch.command')}
        extra={t('launch.commandHint')}
        rules={[needed(t('launch.command')), { validator: (_, text: string | undefined) => (shellWords(text ?? '') === null ? Promise.reject(new Error(t('launch.quotes'))) : Promise.resolve()) }]}
      >
        <Input.TextArea className="mono" autoSize={{ minRows: 2, maxRows: 10 }} placeholder={EXAMPLE} spellCheck={false} autoCapitalize="none" />
      </Form.Item>
      <Form.Item name="files" label={t('launch.files')} extra={t('launch.filesHint')}>
        <FilesField kept={values.upload_id !== undefined} />
      </Form.Item>
      <Form.Item name="by" label={t('launch.measure')}>
        <Segmented<string> options={[{ value: 'flavor', label: t('launch.byFlavor'), disabled: !may('flavors.read') }, { value: 'numbers', label: t('launch.byNumbers') }]} aria-label={t('launch.measure')} />
      </Form.Item>
      {values.by === 'flavor' ? <FlavorChoice organisation={values.organisation_id} chosen={values.flavor} onDefault={(flavor) => onDefault({ flavor })} /> : <Numbers gpu={values.gpu} />}
      <div className="number-fields">
        <Form.Item name="replicas" label={t('launch.replicas')} extra={t('launch.replicasHint')}>
          <InputNumber min={1} max={1000} precision={0} />
        </Form.Item>
        {several && (
          <Form.Item name="organisation_id" label={t('launch.organisation')} className="wide-field">
            <OrganisationSelect needs="workloads.run" />
          </Form.Item>
        )}
      </div>
      <Pairs name="given" title={t('launch.parameters')} hint={t('launch.parametersHint')} add={t('launch.addParameter')} />
      <Pairs name="variables" title={t('launch.variables')} add={t('launch.addVariable')} />
      <div className="number-fields">
        <Form.Item name="time_limit_seconds" label={t('launch.timeLimit')} extra={t('launch.timeLimitHint')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
        <Form.Item name="retries" label={t('launch.retries')}>
          <InputNumber min={0} max={100} precision={0} />
        </Form.Item>
      </div>
      <Form.Item name="preemptible" valuePropName="checked">
        <Checkbox>{t('launch.preemptible')}</Checkbox>
      </Form.Item>
    </>
  );
}

/** What one replica needs, in numbers with their units. */
function Numbers({ gpu }: { gpu: Values['gpu'] }) {
  const { t } = useTranslation();
  return (
    <>
      <div className="number-fields">
        <Form.Item name={['resources', 'cpu_milli']} label={t('launch.cpu')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
        <Form.Item name={['resources', 'memory_mib']} label={t('launch.memory')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
      </div>
      <div className="number-fields">
        <Form.Item name="gpu" label={t('launch.gpu')}>
          <Segmented<string> options={[{ value: 'none', label: t('launch.gpuNone') }, { value: 'slice', label: t('launch.gpuSlice') }, { value: 'whole', label: t('launch.gpuWhole') }]} aria-label={t('launch.gpu')} />
        </Form.Item>
        {gpu === 'slice' && (
          <Form.Item name={['resources', 'gpu', 'memory_mib']} label={t('launch.gpuMemory')}>
            <Input maxLength={20} autoComplete="off" />
          </Form.Item>
        )}
        {gpu !== 'none' && (
          <Form.Item name={['resources', 'gpu', 'count']} label={t('launch.gpuCount')}>
            <InputNumber min={1} max={1024} precision={0} />
          </Form.Item>
        )}
      </div>
    </>
  );
}

/** Names with values, one a line. */
function Pairs({ name, title, hint, add }: { name: 'given' | 'variables'; title: string; hint?: string; add: string }) {
  const { t } = useTranslation();
  return (
    <Form.Item label={title} extra={hint} className="pairs">
      <Form.List name={name}>
        {(fields, { add: append, remove }) => (
          <>
            {fields.map((field) => (
              <div key={field.key} className="pair-line">
                <Form.Item name={[field.name, 'name']} noStyle rules={[{ pattern: VARIABLE, message: t('launch.variableRule') }]}>
                  <Input className="mono" aria-label={`${title}: ${t('launch.variableName')} ${field.name + 1}`} placeholder={t('launch.variableName')} maxLength={100} autoComplete="off" spellCheck={false} />
                </Form.Item>
                <Form.Item name={[field.name, 'value']} noStyle>
                  <Input className="mono" aria-label={`${title}: ${t('launch.variableValue')} ${field.name + 1}`} placeholder={t('launch.variableValue')} maxLength={8192} autoComplete="off" spellCheck={false} />
                </Form.Item>
                <Button type="text" icon={<CloseIcon />} aria-label={t('launch.remove', { name: `${title} ${field.name + 1}` })} onClick={() => remove(field.name)} />
              </div>
            ))}
            <Button size="small" icon={<PlusIcon />} onClick={() => append({})}>{add}</Button>
          </>
        )}
      </Form.List>
    </Form.Item>
  );
}
