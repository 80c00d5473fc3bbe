import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Permission, User } from '../../../api/models';
import { CheckIcon, CloseIcon } from '../../../components/icons';
import { Section } from '../../../components/Page';
import { usePermissionWords } from '../../../components/permission-words';
import { SkeletonRows } from '../../../components/States';
import { usePlaces } from '../places';
import { permissionsQuery } from '../queries';
import { inOrder, useRoles } from '../roles-known';

const SHOWN = 5;
const SHOWN_NOT = 2;

/** What all roles of a person allow together, in words, with where; and what they do not. */
export function PersonAllows({ user }: { user: User }) {
  const { t } = useTranslation();
  const words = usePermissionWords();
  const { crumb, find } = usePlaces();
  const { roles, readable } = useRoles();
  const { data: all } = useQuery({ ...permissionsQuery, enabled: readable });
  const [open, setOpen] = useState(false);
  if (!readable) return null;
  if (!roles || !all) {
    return (
      <Section title={t('people.allows')}>
        <SkeletonRows rows={3} height={28} />
      </Section>
    );
  }
  const held = heldBy(user, (id) => roles.find((role) => role.id === id)?.permissions ?? []);
  const within = (inner: string, outer: string) => inner !== outer && find(inner)?.path.includes(outer);
  const where = (permission: Permission): string => {
    const places = [...(held.get(permission) ?? [])];
    const outermost = places.filter((one) => !places.some((other) => within(one, other)));
    return outermost.map((id) => crumb(id)).join(t('people.comma'));
  };
  const ordered = inOrder(all);
  const yes = ordered.filter((permission) => held.has(permission));
  const no = ordered.filter((permission) => !held.has(permission));
  const everywhere = [...new Set(user.roles.map((grant) => grant.organisation_id))].find((id) =>
    all.every((permission) => held.get(permission)?.has(id)),
  );
  return (
    <Section
      title={t('people.allows')}
      aside={
        <Button
          type="link"
          size="small"
          style={{ padding: 0, height: 20 }}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? t('people.fewerPermissions') : t('people.allPermissions', { count: all.length })}
        </Button>
      }
    >
      <ul className="allows">
        {everywhere && !open ? (
          <li className="yes">
            <CheckIcon size={14} />
            <span>{t('people.allowsEverything', { organisation: crumb(everywhere) })}</span>
          </li>
        ) : (
          (open ? yes : yes.slice(0, SHOWN)).map((permission) => (
            <li key={permission} className="yes">
              <CheckIcon size={14} />
              <span>{t('people.allowedIn', { what: words(permission), organisation: where(permission) })}</span>
            </li>
          ))
        )}
        {(open ? no : no.slice(0, SHOWN_NOT)).map((permission) => (
          <li key={permission} className="no">
            <CloseIcon size={14} />
            <span>
              <span className="visually-hidden">{t('people.mayNot')} </span>
              {words(permission)}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Each permission with the organisations it is held on. Roles that have ended give nothing. */
function heldBy(user: User, permissionsOf: (role: string) => readonly Permission[]): Map<Permission, Set<string>> {
  const held = new Map<Permission, Set<string>>();
  for (const grant of user.roles) {
    for (const permission of permissionsOf(grant.role_id))
      held.set(permission, (held.get(permission) ?? new Set()).add(grant.organisation_id));
  }
  return held;
}
