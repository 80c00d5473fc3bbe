import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Permission, Role } from '../../../api/models';
import { ChangedMeanwhile } from '../../../components/LatestVersion';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice, SkeletonRows } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../OrganisationSelect';
import { usePlaces } from '../places';
import { permissionsQuery } from '../queries';
import { PermissionChecklist } from './PermissionChecklist';
import { RoleEffect } from './RoleEffect';

interface Values {
  organisation_id: string;
  name: string;
  description?: string;
  permissions: Permission[];
}

/** A new role or a changed one; only what one holds oneself can be put in or taken out. */
export function RoleForm({
  changed: role,
  onDone,
  onClose,
}: {
  /** Null for a new one. */ changed: Role | null;
  onDone: (id: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { nodes, heldOn } = usePlaces();
  const { data: permissions } = useQuery(permissionsQuery);
  const [form] = Form.useForm<Values>();
  const first = nodes.find((node) => heldOn(node.id).has('roles.manage'))?.id;
  const organisation = Form.useWatch('organisation_id', form) ?? role?.organisation_id ?? first;
  const chosen = Form.useWatch('permissions', form) ?? role?.permissions ?? [];
  const { submit, busy, error } = useSubmit(
    form,
    ({ organisation_id, name, description, permissions: wanted }: Values) => {
      const fields = { name: name.trim(), description: description?.trim() ?? '', permissions: wanted };
      return role
        ? body(
            client.PATCH('/api/v1/roles/{role_id}', {
              params: { path: { role_id: role.id }, header: ifMatch(role) },
              body: fields,
            }),
          )
        : body(
            client.POST('/api/v1/roles', {
              params: { header: idempotencyKey() },
              body: { organisation_id, ...fields },
            }),
          );
    },
    (saved) => void queries.invalidateQueries({ queryKey: keys.roles }).then(() => onDone(saved.id)),
  );
  return (
    <SidePanel
      title={role ? t('roles.changeTitle', { name: role.name }) : t('roles.new')}
      subtitle={role ? t('roles.customOn', { organisation: role.organisation_name }) : t('roles.newNote')}
      onClose={onClose}
    >
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={
          role
            ? {
                organisation_id: role.organisation_id,
                name: role.name,
                description: role.description,
                permissions: role.permissions,
              }
            : { organisation_id: first, permissions: ['organisations.read'] }
        }
        aria-label={t('roles.new')}
      >
        <ChangedMeanwhile saving={busy} />
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="name"
          label={t('roles.name')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('roles.name') }) }]}
        >
          <Input maxLength={120} autoComplete="off" />
        </Form.Item>
        <Form.Item name="description" label={t('roles.description')}>
          <Input.TextArea maxLength={400} autoSize={{ minRows: 1, maxRows: 4 }} />
        </Form.Item>
        <Form.Item
          name="organisation_id"
          label={t('roles.givenOn')}
          extra={t('roles.givenOnHint')}
          hidden={role !== null}
        >
          <OrganisationSelect needs="roles.manage" />
        </Form.Item>
        {permissions ? (
          <Form.Item
            name="permissions"
            rules={[{ required: true, type: 'array', min: 1, message: t('roles.chooseOne') }]}
          >
            <PermissionChecklist all={permissions} held={heldOn(organisation)} />
          </Form.Item>
        ) : (
          <SkeletonRows rows={6} height={28} />
        )}
        <RoleEffect role={role} chosen={chosen} />
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {role ? t('roles.save') : t('roles.create')}
          </Button>
          <Button type="text" onClick={onClose}>
            {t('people.leave')}
          </Button>
        </div>
      </Form>
    </SidePanel>
  );
}
