import { Form, Input, InputNumber, Segmented, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '../../../api/session';
import { FilesField } from './FilesField';
import { FlavorChoice } from './FlavorChoice';
import { LaunchDetails } from './LaunchDetails';
import { shellWords } from '../../../pages/work/shell-words';
import { ZoneFields } from './ZoneFields';
import type { Values } from './values';

const EXAMPLE = 'python train.py';

/** What everyone says; the rest is folded and says what it is. */
export function LaunchFields({ values }: { values: Values }) {
  const { t } = useTranslation();
  const may = useMay();
  const needed = (field: string) => ({ required: true, whitespace: true, message: t('form.needed', { field }) });
  return (
    <>
      <Form.Item name="name" label={t('launch.name')} rules={[needed(t('launch.name'))]}>
        <Input maxLength={80} autoComplete="off" spellCheck={false} />
      </Form.Item>
      <Form.Item
        name="command"
        label={t('launch.command')}
        extra={values.simulated ? t('launch.simulatedCommandHint') : t('launch.commandHint')}
        rules={[
          ...(values.simulated ? [] : [needed(t('launch.command'))]),
          {
            validator: (_, text: string | undefined) =>
              shellWords(text ?? '') === null ? Promise.reject(new Error(t('launch.quotes'))) : Promise.resolve(),
          },
        ]}
      >
        <Input.TextArea
          className="mono"
          autoSize={{ minRows: 2, maxRows: 10 }}
          placeholder={EXAMPLE}
          spellCheck={false}
          autoCapitalize="none"
        />
      </Form.Item>
      {!values.simulated && (
        <Form.Item name="files" label={t('launch.files')} extra={t('launch.filesHint')}>
          <FilesField kept={values.upload_id !== undefined} />
        </Form.Item>
      )}
      <ZoneFields values={values} />
      <Form.Item name="by" label={t('launch.measure')}>
        <Segmented<string>
          options={[
            { value: 'flavor', label: t('launch.byFlavor'), disabled: !may('flavors.read') },
            { value: 'numbers', label: t('launch.byNumbers') },
          ]}
          aria-label={t('launch.measure')}
        />
      </Form.Item>
      {values.by === 'flavor' ? <FlavorChoice organisation={values.organisation_id} /> : <Numbers gpu={values.gpu} />}
      <LaunchDetails values={values} />
    </>
  );
}

/** What one replica needs, in numbers with their units. */
function Numbers({ gpu }: { gpu: Values['gpu'] }) {
  const { t } = useTranslation();
  return (
    <>
      <div className="number-fields">
        <Form.Item name={['resources', 'cpu']} label={t('launch.cpu')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
        <Form.Item name={['resources', 'memory']} label={t('launch.memory')}>
          <Input maxLength={20} autoComplete="off" />
        </Form.Item>
      </div>
      <div className="number-fields">
        <Form.Item name="gpu" label={t('launch.gpu')}>
          <Segmented<string>
            options={[
              { value: 'none', label: t('launch.gpuNone') },
              { value: 'slice', label: t('launch.gpuSlice') },
              { value: 'whole', label: t('launch.gpuWhole') },
            ]}
            aria-label={t('launch.gpu')}
          />
        </Form.Item>
        {gpu !== 'none' && (
          <Form.Item name={['resources', 'gpu', 'count']} label={t('launch.gpuCount')}>
            <InputNumber min={1} max={1024} precision={0} />
          </Form.Item>
        )}
        {gpu === 'slice' && (
          <>
            <Form.Item
              name={['resources', 'gpu', 'memory_mib']}
              label={t('launch.gpuMemory')}
              extra={t('launch.gpuMemoryHint')}
            >
              <Input maxLength={20} autoComplete="off" />
            </Form.Item>
            <Form.Item
              name={['resources', 'gpu', 'compute_percent']}
              label={t('launch.gpuCompute')}
              extra={t('launch.gpuComputeHint')}
            >
              <InputNumber min={0} max={100} precision={0} />
            </Form.Item>
          </>
        )}
        {gpu !== 'none' && (
          <Form.Item
            name={['resources', 'gpu', 'models']}
            label={t('flavors.models')}
            extra={t('flavors.modelsHint')}
            className="wide-field"
          >
            <Select mode="tags" open={false} suffixIcon={null} aria-label={t('flavors.models')} />
          </Form.Item>
        )}
      </div>
    </>
  );
}
