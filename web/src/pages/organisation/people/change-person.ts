import { useQueryClient } from '@tanstack/react-query';
import { body, client, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { useAdopt } from '../../../components/LatestVersion';

/** Changes the person as it was seen here; refused if it changed meanwhile. */
export function useChangePerson(user: User) {
  const queries = useQueryClient();
  const adopt = useAdopt();
  return async (change: {
    display_name?: string;
    mail?: string | null;
    priority?: number;
    state?: 'active' | 'disabled';
  }): Promise<User> => {
    const changed = await body(
      client.PATCH('/api/v1/users/{user_id}', {
        params: { path: { user_id: user.id }, header: ifMatch(user) },
        body: change,
      }),
    );
    adopt(changed);
    await queries.invalidateQueries({ queryKey: keys.users });
    return changed;
  };
}
