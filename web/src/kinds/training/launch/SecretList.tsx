import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { secretsQuery } from '../../../pages/data/queries';
import { PairList } from './PairList';

/** Variables that get the value of a secret, which stands nowhere else. */
export function SecretList() {
  const { t } = useTranslation();
  const { data } = useQuery(secretsQuery);
  const hint = (
    <>
      {data?.length === 0 ? t('launch.noSecrets') : t('launch.secretsHint')}{' '}
      <Link to={'/secrets'} search={{}} target="_blank">
        {t('menu.secrets')}
      </Link>
    </>
  );
  return (
    <PairList
      name="hidden"
      title={t('menu.secrets')}
      hint={hint}
      add={t('launch.addSecret')}
      value={(label) => (
        <Select
          aria-label={label}
          placeholder={t('launch.chooseSecret')}
          options={(data ?? []).map(({ name }) => ({ value: name, label: name }))}
        />
      )}
    />
  );
}
