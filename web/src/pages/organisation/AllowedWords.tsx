import { useTranslation } from 'react-i18next';
import { usePermissionWords } from '../../components/permission-words';
import { usePlaces } from './places';
import { inOrder, useRoles } from './roles-known';

/** One sentence: what a role allows where. */
export function AllowedWords({ role, organisation }: { role: string; organisation: string }) {
  const { t } = useTranslation();
  const words = usePermissionWords();
  const { crumb } = usePlaces();
  const { roles } = useRoles();
  const found = roles?.find((one) => one.id === role);
  if (!found) return null;
  return (
    <p className="effect strong-effect">
      {t('roles.allowsThere', {
        organisation: crumb(organisation),
        words: inOrder(found.permissions).map(words).join(t('roles.semicolon')),
      })}
    </p>
  );
}
