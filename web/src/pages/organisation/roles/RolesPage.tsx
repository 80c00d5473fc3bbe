import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Role } from '../../../api/models';
import { useMay } from '../../../api/session';
import { LatestVersion } from '../../../components/LatestVersion';
import { AsCommand } from '../../../components/AsCommand';
import { DataTable } from '../../../components/DataTable';
import { PlusIcon } from '../../../components/icons';
import { AnswerLine, Page } from '../../../components/Page';
import { usePermissionWords } from '../../../components/permission-words';
import { useRoleName } from '../../../components/role-name';
import { EmptyState, ErrorState, SkeletonAnswer } from '../../../components/States';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { usePhone } from '../../../theme/preferences';
import '../organisation.css';
import { usePlaces } from '../places';
import { inOrder, useRoles } from '../roles-known';
import { DeleteRole } from './DeleteRole';
import { RoleForm } from './RoleForm';
import { RolePanel } from './RolePanel';

const NAMED = 3;

/** What roles there are, what each allows, and how many have it. */
export default function RolesPage() {
  const { t } = useTranslation();
  const phone = usePhone();
  const manages = useMay()('roles.manage');
  const [url, change] = useUrlState();
  const { roles, error, retry } = useRoles();
  const [deleting, setDeleting] = useState<Role | null>(null);
  const shown = roles?.find((role) => role.id === url.role);
  const close = () => change({ role: undefined, edit: undefined });
  const panel =
    url.edit === 'new' && manages ? (
      <RoleForm key="new" changed={null} onDone={(id) => change({ role: id, edit: undefined })} onClose={close} />
    ) : shown && url.edit === 'change' && manages ? (
      <LatestVersion of={shown}>
        {(role) => (
          <RoleForm
            changed={role}
            onDone={() => change({ edit: undefined })}
            onClose={() => change({ edit: undefined })}
          />
        )}
      </LatestVersion>
    ) : shown ? (
      <RolePanel
        key={shown.id}
        role={shown}
        onChange={() => change({ edit: 'change' })}
        onDelete={() => setDeleting(shown)}
        onClose={close}
      />
    ) : null;
  return (
    <Page
      title={t('menu.roles')}
      crumbs={[{ title: t('menu.organisation') }]}
      answer={error ? null : <Answer roles={roles} />}
      actions={
        <>
          {!phone && <AsCommand cli="corral role list" api="GET /api/v1/roles" />}
          {manages && (
            <Button type="primary" icon={<PlusIcon />} onClick={() => change({ edit: 'new', role: undefined })}>
              {t('roles.new')}
            </Button>
          )}
        </>
      }
      panel={panel}
    >
      {error ? (
        <ErrorState error={error} what={t('menu.roles')} onRetry={retry} />
      ) : (
        <RoleTable
          roles={roles}
          narrow={panel !== null}
          openId={shown?.id ?? null}
          onOpen={(id) => change({ role: id, edit: undefined })}
        />
      )}
      {roles && !roles.some((role) => role.key === null) && manages && (
        <EmptyState
          title={t('roles.noCustom')}
          text={t('roles.noCustomText')}
          command="corral role create Teacher -p people.read -p people.invite"
        />
      )}
      <DeleteRole role={deleting} onClose={() => setDeleting(null)} onDeleted={close} />
    </Page>
  );
}

function Answer({ roles }: { roles: Role[] | undefined }) {
  const { t } = useTranslation();
  if (!roles) return <SkeletonAnswer />;
  const custom = roles.filter((role) => role.key === null);
  const unused = custom.filter((role) => role.people_count === 0).length;
  const administrators = roles.find((role) => role.key === 'super_administrator');
  const consequence =
    administrators && administrators.people_count < 2
      ? t('roles.oneAdministrator')
      : unused > 0
        ? t('roles.unused', { count: unused })
        : undefined;
  return (
    <AnswerLine consequence={consequence}>
      {t('roles.answer', { count: roles.length, custom: custom.length })}
    </AnswerLine>
  );
}

function RoleTable({
  roles,
  narrow,
  openId,
  onOpen,
}: {
  roles: Role[] | undefined;
  /** A panel stands beside it. */ narrow: boolean;
  openId: string | null;
  onOpen: (id: string) => void;
}) {
  const { t } = useTranslation();
  const roleName = useRoleName();
  const words = usePermissionWords();
  const { number } = useFormat();
  const { crumb } = usePlaces();
  const name = (role: Role) => roleName({ role_key: role.key, role_name: role.name });
  const kind = (role: Role) => (role.key ? t('roles.preset') : t('roles.custom'));
  const allows = (role: Role) => {
    const rest = role.permissions.length - NAMED;
    const first = inOrder(role.permissions).slice(0, NAMED).map(words).join(t('roles.semicolon'));
    return rest > 0 ? t('roles.andMore', { words: first, count: rest }) : first;
  };
  return (
    <DataTable
      label={t('menu.roles')}
      rows={roles}
      skeletonRows={6}
      empty={null}
      openId={openId}
      onOpen={(role) => onOpen(role.id)}
      columns={[
        {
          title: t('roles.role'),
          width: narrow ? '30%' : '18%',
          render: (_, role) => <span className="strong">{name(role)}</span>,
        },
        ...(narrow
          ? []
          : [
              {
                title: t('roles.kind'),
                width: 96,
                render: (_: unknown, role: Role) => <span className="text-2">{kind(role)}</span>,
              },
            ]),
        {
          title: t('roles.givenOn'),
          ellipsis: true,
          width: narrow ? '22%' : '16%',
          render: (_, role) => <span className="text-2">{crumb(role.organisation_id, role.organisation_name)}</span>,
        },
        {
          title: t('roles.allows'),
          ellipsis: true,
          render: (_, role) => (
            <span className="text-2" title={allows(role)}>
              {allows(role)}
            </span>
          ),
        },
        { title: t('roles.people'), align: 'right', width: 76, render: (_, role) => number(role.people_count) },
      ]}
      phoneRow={(role) => (
        <div>
          <div className="row" style={{ border: 0, padding: 0, minHeight: 20 }}>
            <span className="strong grow">{name(role)}</span>
            <span className="small text-2">{t('people.count', { count: role.people_count })}</span>
          </div>
          <div className="small text-2">
            {kind(role)}
            {t('people.comma')}
            {crumb(role.organisation_id, role.organisation_name)}
          </div>
          <div className="small text-2">{allows(role)}</div>
        </div>
      )}
    />
  );
}
