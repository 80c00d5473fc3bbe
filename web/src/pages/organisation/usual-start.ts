import type { Permission } from '../../api/models';
import { useMe } from '../../api/session';
import { useLookingAt } from '../../shell/looking-at';
import { usePlaces } from './places';
import { useRoles } from './roles-known';

/** Where somebody new most likely belongs and with which role: the organisation one looks at, the role user. */
export function useUsualStart(needs: Permission): { ready: boolean; organisation_id?: string; role_id?: string } {
  const { nodes, heldOn, loading } = usePlaces();
  const { organisation } = useLookingAt();
  const { roles, readable } = useRoles();
  const me = useMe();
  const here =
    organisation && heldOn(organisation.id).has(needs)
      ? organisation
      : nodes.find((node) => heldOn(node.id).has(needs));
  const usual = readable
    ? roles?.find((role) => role.key === 'user')?.id
    : me.roles.find((role) => role.role_key === 'user')?.role_id;
  return { ready: !loading && (!readable || roles !== undefined), organisation_id: here?.id, role_id: usual };
}
