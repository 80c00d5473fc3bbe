import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../api/models';
import { useMay } from '../../../api/session';
import { LatestVersion } from '../../../components/LatestVersion';
import { Avatar } from '../../../components/Avatar';
import { SidePanel } from '../../../components/SidePanel';
import { ErrorState, SkeletonRows } from '../../../components/States';
import { StatusChip } from '../../../components/StatusChip';
import { useFormat } from '../../../i18n/format';
import { usePlaces } from '../places';
import { personQuery } from '../queries';
import { PersonActions } from './PersonActions';
import { PersonAllows } from './PersonAllows';
import { PersonDetails } from './PersonDetails';
import { PersonPlaces } from './PersonPlaces';
import { PersonPriority } from './PersonPriority';
import { PersonRoles } from './PersonRoles';
import { PersonSessions } from './PersonSessions';

/** One person: what they may do, where they belong, and what can be done about it. */
export function PersonPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data: user, error, refetch } = useQuery(personQuery(id));
  return (
    <SidePanel
      title={user?.display_name ?? (error ? t('people.person') : t('state.loading'))}
      subtitle={user && [user.name, user.mail].filter(Boolean).join(' · ')}
      avatar={<Avatar large name={user?.display_name ?? ''} />}
      onClose={onClose}
    >
      {error ? (
        <ErrorState error={error} what={t('people.person')} onRetry={() => void refetch()} />
      ) : user ? (
        <LatestVersion of={user}>{(shown) => <Person user={user} edited={shown} onDeleted={onClose} />}</LatestVersion>
      ) : (
        <SkeletonRows rows={6} height={48} />
      )}
    </SidePanel>
  );
}

/** Forms edit the version that they began with; everything else shows the newest. */
function Person({ user, edited, onDeleted }: { user: User; edited: User; onDeleted: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const { day } = useFormat();
  const { heldOn } = usePlaces();
  // Whoever may manage people where this person belongs; the server decides again at each change.
  const manages =
    may('people.manage') &&
    (user.organisations.length === 0 || user.organisations.some(({ id }) => heldOn(id).has('people.manage')));
  return (
    <>
      {user.state !== 'active' && (
        <p style={{ marginBottom: 12 }}>
          <StatusChip state={user.state} soft />
        </p>
      )}
      {manages && <PersonActions user={user} onDeleted={onDeleted} />}
      <PersonRoles user={user} />
      <PersonAllows user={user} />
      <PersonPlaces user={user} manages={manages} />
      <PersonPriority user={edited} manages={manages} />
      {manages && <PersonDetails user={edited} />}
      {manages && <PersonSessions user={user} />}
      <p className="small text-3">
        {t('people.since', { day: day(user.created_at) })}{' '}
        {may('audit.read') && (
          <Link to="/audit" search={{ object: user.id, name: user.display_name }}>
            {t('people.history')}
          </Link>
        )}
      </p>
    </>
  );
}
