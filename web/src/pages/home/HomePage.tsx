import { hasPermission, useSession } from '../../api/session';
import { AdminHome } from './AdminHome';
import { UserHome } from './UserHome';

/** Whoever runs the installation sees what it still needs; everybody else what they can do. */
export default function HomePage() {
  return hasPermission(useSession(), 'settings.read') ? <AdminHome /> : <UserHome />;
}
