import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Form, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { runtimesQuery } from '../../../pages/data/queries';
import { labelOf } from '../../../pages/data/runtimes/words';

/** The Python that the command finds: the system's, or a runtime that is built. */
export function RuntimeSelect() {
  const { t } = useTranslation();
  const { data } = useQuery(runtimesQuery);
  const options = (data?.items ?? []).map((runtime) => {
    const label = labelOf(runtime);
    const ready = runtime.state === 'ready';
    return {
      value: label,
      label: ready ? label : `${label}${t('work.comma')}${t(`runtimes.state.${runtime.state}`)}`,
      disabled: !ready,
    };
  });
  return (
    <Form.Item
      name="runtime"
      label={t('runtimes.runtime')}
      extra={
        <Link to={'/runtimes'} search={{}} target="_blank">
          {t('menu.runtimes')}
        </Link>
      }
    >
      <Select allowClear placeholder={t('launch.systemPython')} options={options} />
    </Form.Item>
  );
}
