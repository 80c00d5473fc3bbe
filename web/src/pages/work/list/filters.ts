import type { Scriptable } from '../../../components/AsCommand';
import { useMe } from '../../../api/session';
import type { WorkloadState } from '../../../api/models';
import { useLookingAt } from '../../../shell/looking-at';
import { useUrlState } from '../../../shell/url-state';
import type { WorkloadFilters } from '../queries';
import { isOver, states } from '../states';

/** Groups of states that are asked for together. */
const groups: Record<string, WorkloadState[]> = {
  notOver: states.filter((state) => !isOver(state)),
  over: states.filter(isOver),
};

export interface UsedFilters {
  filters: WorkloadFilters;
  /** Any filter beside the organisation and the page's own kind is set. */
  narrowed: boolean;
}

/** What the address asks for; a page of one kind brings it along. */
export function useWorkloadFilters(kind: string | undefined): UsedFilters {
  const [url] = useUrlState();
  const me = useMe();
  const { organisation } = useLookingAt();
  const one = states.find((state) => state === url.state);
  const state = one ? [one] : url.state ? groups[url.state] : undefined;
  const chosenKind = kind ?? url.kind;
  return {
    filters: {
      state,
      kind: chosenKind ? [chosenKind] : undefined,
      user_id: url.whose === 'mine' ? me.id : undefined,
      organisation_id: organisation?.id,
      search: url.search?.trim() || undefined,
    },
    narrowed: Boolean(url.search ?? state ?? url.whose ?? (kind ? undefined : url.kind)),
  };
}

const quoted = (text: string): string => (/^[\w.@-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`);

/** The same list as a command and as a call. */
export function commandOf(
  { state, kind, user_id, organisation_id, search }: WorkloadFilters,
  organisationName: string | undefined,
): Scriptable {
  const options = [
    !state && '--all',
    user_id ? undefined : '--everyone',
    organisation_id && `--org ${quoted(organisationName ?? organisation_id)}`,
    ...(state ?? []).map((one) => `--state ${one}`),
  ].filter(Boolean);
  const query = new URLSearchParams();
  for (const one of state ?? []) query.append('state', one);
  for (const one of kind ?? []) query.append('kind', one);
  for (const [name, value] of Object.entries({ user_id, organisation_id, search })) if (value) query.set(name, value);
  const asked = query.toString();
  // The command has no search; then only the call shows exactly this list.
  return {
    cli: search ? undefined : ['corral ps', ...options].join(' '),
    api: `GET /api/v1/workloads${asked ? `?${asked}` : ''}`,
  };
}
