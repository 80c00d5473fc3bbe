import { useQuery } from '@tanstack/react-query';
import type { Invitation, User } from '../../../api/models';
import { usePlaces } from '../places';
import { invitationsQuery } from '../queries';
import { usePeopleFilters } from './filters';

/** A person, or someone invited who is not one yet. */
export type PeopleRow =
  { id: string; user: User; invitation?: undefined } | { id: string; user?: undefined; invitation: Invitation };

/** Open invitations that the filters let through. */
export function useInvitedRows(): PeopleRow[] {
  const { filters, invited } = usePeopleFilters();
  const { find } = usePlaces();
  const { data = [] } = useQuery(invitationsQuery);
  if (filters.state) return [];
  const wanted = filters.search?.toLowerCase();
  return (
    data
      .filter(
        (one) =>
          !filters.organisation ||
          one.organisation_id === filters.organisation ||
          find(one.organisation_id)?.path.includes(filters.organisation),
      )
      .filter((one) => !filters.role || one.role_id === filters.role)
      .filter((one) => !wanted || one.mail?.toLowerCase().includes(wanted))
      // Links without an address have no name to look for among people; they are listed with the invitations.
      .filter((one) => invited || one.mail !== null)
      .map((invitation) => ({ id: invitation.id, invitation }))
  );
}
