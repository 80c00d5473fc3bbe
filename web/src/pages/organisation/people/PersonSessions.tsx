import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import { ApiError } from '../../../api/errors';
import { keys } from '../../../api/keys';
import type { User } from '../../../api/models';
import { Section } from '../../../components/Page';
import { ErrorState, SkeletonRows } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { browserOf } from '../../profile/browser-of';

/** Where the person is signed in now. */
export function PersonSessions({ user }: { user: User }) {
  const { t } = useTranslation();
  const { ago } = useFormat();
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.users, 'sessions', user.id],
    queryFn: async () =>
      (await body(client.GET('/api/v1/users/{user_id}/sessions', { params: { path: { user_id: user.id } } }))).items,
    refetchInterval: 60_000,
  });
  const beyond = error instanceof ApiError && error.status === 403;
  return (
    <Section title={t('people.sessions')} note={data && String(data.length)}>
      {beyond && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.sessionsBeyond', { name: user.display_name })}
        </p>
      )}
      {error && !beyond && <ErrorState error={error} what={t('people.sessions')} onRetry={() => void refetch()} />}
      {!data && !error && <SkeletonRows rows={1} height={48} />}
      {data?.length === 0 && (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.noSession')}
        </p>
      )}
      <ul>
        {data?.map((session) => (
          <li key={session.id} className="row">
            <div className="grow">
              <div>{browserOf(session.user_agent) ?? t('profile.sessions.unknownBrowser')}</div>
              <div className="small text-2">{session.address}</div>
            </div>
            <span className="small text-2">{ago(session.last_seen_at)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
