import type { Scriptable } from '../../../components/AsCommand';
import { useLookingAt } from '../../../shell/looking-at';
import { useUrlState } from '../../../shell/url-state';
import type { PeopleFilters } from '../queries';

export const states = ['active', 'pending', 'disabled', 'invited'] as const;
export type StateFilter = (typeof states)[number];

export const USUAL_SORT = 'display_name';

export interface UsedFilters {
  filters: PeopleFilters;
  /** Only open invitations are wanted; they are no people yet. */
  invited: boolean;
  /** Any filter beside the organisation is set. */
  narrowed: boolean;
}

/** What the address asks for. */
export function usePeopleFilters(): UsedFilters {
  const [url] = useUrlState();
  const { organisation } = useLookingAt();
  const state = states.find((one) => one === url.state);
  const invited = state === 'invited';
  return {
    filters: {
      organisation: organisation?.id,
      role: url.role || undefined,
      state: invited ? undefined : state,
      search: url.search?.trim() || undefined,
      sort: url.sort ?? USUAL_SORT,
    },
    invited,
    narrowed: Boolean(url.role ?? url.search ?? state),
  };
}

const quoted = (text: string): string => (/^[\w.@-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`);

/** The same list as a command and as a call. */
export function commandOf(filters: PeopleFilters, organisationName: string | undefined): Scriptable {
  const { organisation, role, state, search, sort } = filters;
  const options = [
    organisation && `--org ${quoted(organisationName ?? organisation)}`,
    role && `--role ${role}`,
    state && `--state ${state}`,
    search && `--search ${quoted(search)}`,
    sort !== USUAL_SORT && `--sort ${sort}`,
  ].filter(Boolean);
  const query = new URLSearchParams(
    Object.entries({ organisation, role, state, search, sort }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    ),
  );
  return { cli: ['corral user list', ...options].join(' '), api: `GET /api/v1/users?${query.toString()}` };
}
