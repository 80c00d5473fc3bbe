import { Button, Dropdown } from 'antd';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import type { components } from '../../../api/schema';
import { useSession } from '../../../api/session';

type Port = components['schemas']['Port'];

/** Opens what the work serves to browsers, in a tab of its own: for its owner, while it runs. */
export function OpenApp({ work }: { work: WorkloadDetail }) {
  const { t } = useTranslation();
  const session = useSession();
  const ports = ((work.spec.ports ?? []) as (Port | number | string)[]).filter(
    (port): port is Port => typeof port === 'object' && port.protocol === 'http',
  );
  const [first] = ports;
  if (first === undefined || work.state !== 'running' || session.user.id !== work.user.id) return null;
  const address = (port: Port) => `/open/${work.id}?port=${String(port.number)}`;
  if (ports.length === 1)
    return (
      <Button type="primary" href={address(first)} target="_blank" rel="noopener">
        {t('apps.open')}
      </Button>
    );
  return (
    <Dropdown
      trigger={['click']}
      menu={{
        items: ports.map((port) => ({
          key: port.number,
          label: (
            <a href={address(port)} target="_blank" rel="noopener">
              {t('apps.openPort', { port: port.name })}
            </a>
          ),
        })),
      }}
    >
      <Button type="primary">{t('apps.open')}</Button>
    </Dropdown>
  );
}
