import { Input, Select } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { SearchIcon } from '../../../components/icons';
import { OrganisationSwitcher } from '../../../shell/OrganisationSwitcher';
import { useUrlState } from '../../../shell/url-state';
import { states } from '../states';

const SETTLE_MS = 250;
const ANY = '*';

/** Name, whose, state, kind; all of it in the address. */
export function WorkloadFilterBar({ kinds }: { kinds: boolean }) {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const chosen = (value: string): string | undefined => (value === ANY ? undefined : value);
  return (
    <div className="filters" role="search" aria-label={t('work.filters')}>
      <SearchField />
      <OrganisationSwitcher />
      <Select
        aria-label={t('work.whoseFilter')}
        value={url.whose === 'mine' ? 'mine' : ANY}
        onChange={(value) => change({ whose: chosen(value) })}
        popupMatchSelectWidth={false}
        options={[
          { value: ANY, label: t('work.everyone') },
          { value: 'mine', label: t('work.mine') },
        ]}
      />
      <Select
        aria-label={t('work.stateFilter')}
        value={url.state ?? ANY}
        onChange={(value) => change({ state: chosen(value) })}
        popupMatchSelectWidth={false}
        options={[
          { value: ANY, label: t('work.anyState') },
          { value: 'notOver', label: t('work.notOver') },
          { value: 'over', label: t('work.over') },
          ...states.map((value) => ({ value, label: t(`state.${value}`) })),
        ]}
      />
      {kinds && (
        <Select
          aria-label={t('work.kindFilter')}
          value={url.kind ?? ANY}
          onChange={(value) => change({ kind: chosen(value) })}
          popupMatchSelectWidth={false}
          options={[
            { value: ANY, label: t('work.anyKind') },
            { value: 'training', label: t('work.kind.training') },
            { value: 'runtime', label: t('work.kind.runtime') },
          ]}
        />
      )}
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
      aria-label={t('work.search')}
      placeholder={t('work.search')}
      value={text}
      maxLength={100}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
