import { Input, Select } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SearchIcon } from '../../../components/icons';
import { useRoleName } from '../../../components/role-name';
import { OrganisationSwitcher } from '../../../shell/OrganisationSwitcher';
import { useUrlState } from '../../../shell/url-state';
import { useRoles } from '../roles-known';
import { states } from './filters';

const SETTLE_MS = 250;
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
      <SearchField />
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

function SearchField() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const inUrl = url.search ?? '';
  const [text, setText] = useState(inUrl);
  const [lastUrl, setLastUrl] = useState(inUrl);
  if (lastUrl !== inUrl) {
    // Changed from elsewhere, such as a button that drops the filter.
    setLastUrl(inUrl);
    if (inUrl !== text.trim()) setText(inUrl);
  }
  useEffect(() => {
    if (text.trim() === inUrl) return undefined;
    const timer = setTimeout(() => change({ search: text.trim() || undefined }), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, inUrl, change]);
  return (
    <Input
      className="find"
      allowClear
      prefix={<SearchIcon />}
      aria-label={t('people.search')}
      placeholder={t('people.search')}
      value={text}
      maxLength={100}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
