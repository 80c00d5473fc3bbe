import { useQueries } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { keys } from '../../../api/keys';
import { useRoleName } from '../../../components/role-name';
import { EmptyState } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useLookingAt } from '../../../shell/looking-at';
import { useUrlState } from '../../../shell/url-state';
import type { PeopleFilters } from '../queries';
import { useRoles } from '../roles-known';
import { usePeopleFilters } from './filters';

const COUNTED = 200;

/** Nobody is left by the filters: says how many there are without each of them. */
export function NobodyMatches() {
  const { t } = useTranslation();
  const [url, change] = useUrlState();
  const { organisation, look } = useLookingAt();
  const { filters } = usePeopleFilters();
  const roleName = useRoleName();
  const { sentences } = useFormat();
  const { roles } = useRoles();
  const role = roles?.find((one) => one.id === filters.role);
  const state = url.state as 'active' | 'pending' | 'disabled' | 'invited' | undefined;
  const set = [
    filters.search && {
      key: 'search' as const,
      word: `“${filters.search}”`,
      drop: () => change({ search: undefined }),
    },
    filters.role && {
      key: 'role' as const,
      word: role ? roleName({ role_key: role.key, role_name: role.name }) : t('people.role'),
      drop: () => change({ role: undefined }),
    },
    state && {
      key: 'state' as const,
      word: state === 'invited' ? t('people.invited') : t(`state.${state}`),
      drop: () => change({ state: undefined }),
    },
    organisation && { key: 'organisation' as const, word: organisation.name, drop: () => look(null) },
  ].filter((one) => one !== undefined && one !== '' && one !== null && typeof one === 'object');
  const counts = useQueries({
    queries: set.map(({ key }) => ({
      queryKey: [...keys.users, 'without', key, filters],
      queryFn: async () =>
        (await body(client.GET('/api/v1/users', { params: { query: without(filters, key) } }))).items.length,
    })),
  });
  const hints = set.flatMap(({ key }, index) => {
    const count = counts[index]?.data;
    return count
      ? [t(`people.without.${key}`, { number: count >= COUNTED ? t('people.orMore', { count }) : String(count) })]
      : [];
  });
  const all = () => {
    if (organisation) look(null);
    change({ search: undefined, role: undefined, state: undefined, organisation: undefined });
  };
  return (
    <EmptyState
      title={t('people.nobody', { filters: set.map(({ word }) => word).join(t('people.comma')) })}
      text={hints.length > 0 ? sentences(hints) : t('people.nobodyEither')}
      actions={
        <>
          {set.map(({ key, drop }) => (
            <Button key={key} onClick={drop}>
              {t(`people.any.${key}`)}
            </Button>
          ))}
          {set.length > 1 && (
            <Button type="text" onClick={all}>
              {t('people.clearAll')}
            </Button>
          )}
        </>
      }
    />
  );
}

function without(filters: PeopleFilters, key: keyof PeopleFilters): PeopleFilters & { limit: number } {
  return { ...filters, [key]: undefined, limit: COUNTED };
}

/** The first administrator is alone: how others come in. Inviting itself is the page's own button. */
export function TeachInviting({ onCode }: { onCode: () => void }) {
  const { t } = useTranslation();
  return (
    <EmptyState
      title={t('people.alone.title')}
      text={t('people.alone.text')}
      command="corral user join-code create --seats 40"
      actions={<Button onClick={onCode}>{t('people.code.new')}</Button>}
    />
  );
}
