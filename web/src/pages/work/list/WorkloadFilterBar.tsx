import { Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { SearchField } from '../../../components/SearchField';
import { kinds, plugOf } from '../../../kinds';
import { OrganisationSwitcher } from '../../../shell/OrganisationSwitcher';
import { useUrlState } from '../../../shell/url-state';
import { states } from '../states';

const ANY = '*';

/** Name, whose, state, kind; all of it in the address. */
export function WorkloadFilterBar({ ofEveryKind }: { ofEveryKind: boolean }) {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const chosen = (value: string): string | undefined => (value === ANY ? undefined : value);
  return (
    <div className="filters" role="search" aria-label={t('work.filters')}>
      <SearchField label={t('work.search')} />
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
      {ofEveryKind && (
        <Select
          aria-label={t('work.kindFilter')}
          value={url.kind ?? ANY}
          onChange={(value) => change({ kind: chosen(value) })}
          popupMatchSelectWidth={false}
          options={[
            { value: ANY, label: t('work.anyKind') },
            ...kinds.map((one) => ({ value: one.kind, label: t(one.name) })),
            ...(url.kind && !plugOf(url.kind) ? [{ value: url.kind, label: url.kind }] : []),
          ]}
        />
      )}
    </div>
  );
}
