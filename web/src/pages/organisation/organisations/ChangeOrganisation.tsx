import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { Organisation } from '../../../api/models';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../OrganisationSelect';
import { usePlaces } from '../places';

/** Renames or moves a node of the tree. */
export function ChangeOrganisation({
  kind,
  organisation,
  onClose,
}: {
  kind: 'rename' | 'move';
  organisation: Organisation;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<{ name?: string; parent_id?: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    (values: { name?: string; parent_id?: string }) =>
      body(
        client.PATCH('/api/v1/organisations/{organisation_id}', {
          params: { path: { organisation_id: organisation.id }, header: ifMatch(organisation) },
          body: kind === 'rename' ? { name: values.name?.trim() } : { parent_id: values.parent_id },
        }),
      ),
    () => {
      void queries.invalidateQueries({ queryKey: keys.organisations });
      onClose();
    },
  );
  return (
    <SidePanel
      title={t(kind === 'move' ? 'organisations.moveTitle' : 'organisations.renameTitle', { name: organisation.name })}
      onClose={onClose}
    >
      <Form form={form} layout="vertical" onFinish={submit} initialValues={{ name: organisation.name }}>
        {error !== null && <ProblemNotice error={error} />}
        {kind === 'rename' ? (
          <Form.Item
            name="name"
            label={t('organisations.name')}
            rules={[
              { required: true, whitespace: true, message: t('form.needed', { field: t('organisations.name') }) },
            ]}
          >
            <Input maxLength={120} autoComplete="off" />
          </Form.Item>
        ) : (
          <MoveFields organisation={organisation} />
        )}
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {t(kind === 'rename' ? 'organisations.saveName' : 'organisations.moveIt')}
          </Button>
          <Button type="text" onClick={onClose}>
            {t('organisations.leave')}
          </Button>
        </div>
      </Form>
    </SidePanel>
  );
}

/** The new parent, and whom the move hits. */
function MoveFields({ organisation }: { organisation: Organisation }) {
  const { t } = useTranslation();
  const { nodes, find } = usePlaces();
  const form = Form.useFormInstance<{ parent_id?: string }>();
  const target = find(Form.useWatch('parent_id', form));
  const subtree = nodes.filter((node) => node.path.includes(organisation.id));
  const people = subtree.reduce((sum, node) => sum + node.people_count, 0);
  const without = new Set([
    ...subtree.map((node) => node.id),
    ...(organisation.parent_id ? [organisation.parent_id] : []),
  ]);
  // Roles hold for everything below: what is newly above counts from then on, what no longer is does not.
  const above = organisation.path.filter((id) => id !== organisation.id);
  const names = (ids: readonly string[]) =>
    ids
      .map((id) => find(id)?.name)
      .filter((name) => name !== undefined)
      .join(t('people.comma'));
  const gained = names(target?.path.filter((id) => !above.includes(id)) ?? []);
  const lost = names(target ? above.filter((id) => !target.path.includes(id)) : []);
  return (
    <>
      <Form.Item
        name="parent_id"
        label={t('organisations.to')}
        rules={[{ required: true, message: t('form.needed', { field: t('organisations.to') }) }]}
      >
        <OrganisationSelect needs="organisations.manage" without={without} />
      </Form.Item>
      <p className="effect strong-effect" aria-live="polite">
        {t('organisations.moveHits', {
          organisations: t('organisations.count', { count: subtree.length }),
          people: t('organisations.memberships', { count: people }),
        })}{' '}
        {gained && t('organisations.moveGains', { names: gained })}{' '}
        {lost && t('organisations.moveLoses', { names: lost })}
      </p>
    </>
  );
}
