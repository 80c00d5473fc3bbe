import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { useRoleName } from '../../../components/role-name';
import { SearchField } from '../../../components/SearchField';
import { OrganisationSwitcher } from '../../../shell/OrganisationSwitcher';
import { useUrlState } from '../../../shell/url-state';
import { useRoles } from '../roles-known';
import { states } from './filters';

const ANY = '*';

/** Name or mail, organisation, role, state; all of it in the address. */
export function PeopleFilterBar() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const roleName = useRoleName();
  const { roles, readable } = useRoles();
  const chosen = (value: string): string | undefined => (value === ANY ? undefined : value);
  return (
    <div className="filters" role="search" aria-label={t('people.filters')}>
      <SearchField label={t('people.search')} />
      <OrganisationSwitcher />
      {readable && (
        <Select
          aria-label={t('people.role')}
          value={url.role ?? ANY}
          onChange={(value) => change({ role: chosen(value) })}
          popupMatchSelectWidth={false}
          options={[
            { value: ANY, label: t('people.anyRole') },
            ...(roles ?? []).map((role) => ({
              value: role.id,
              label: roleName({ role_key: role.key, role_name: role.name }),
            })),
          ]}
        />
      )}
      <Select
        aria-label={t('people.state')}
        value={states.find((one) => one === url.state) ?? ANY}
        onChange={(value) => change({ state: chosen(value) })}
        popupMatchSelectWidth={false}
        options={[
          { value: ANY, label: t('people.anyState') },
          ...states.map((value) => ({ value, label: value === 'invited' ? t('people.invited') : t(`state.${value}`) })),
        ]}
      />
    </div>
  );
}
