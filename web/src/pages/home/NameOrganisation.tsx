import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../api/client';
import { keys } from '../../api/keys';
import type { Organisation } from '../../api/models';
import { organisationsQuery } from '../../api/organisations';
import { SidePanel } from '../../components/SidePanel';
import { ProblemNotice, SkeletonRows } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';

/** Gives the root of the organisation tree its real name. */
export function NameOrganisation({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { data } = useQuery(organisationsQuery);
  const root = data?.find((one) => one.parent_id === null);
  return (
    <SidePanel title={t('home.name.title')} subtitle={t('home.name.note')} onClose={onClose}>
      {root ? <NameForm root={root} onClose={onClose} /> : <SkeletonRows rows={1} />}
    </SidePanel>
  );
}

function NameForm({ root, onClose }: { root: Organisation; onClose: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<{ name: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ name }: { name: string }) =>
      body(
        client.PATCH('/api/v1/organisations/{organisation_id}', {
          body: { name: name.trim() },
          params: { path: { organisation_id: root.id }, header: ifMatch(root) },
        }),
      ),
    () => {
      for (const queryKey of [keys.organisations, keys.checklist, keys.loginOptions, keys.session])
        void queries.invalidateQueries({ queryKey });
      onClose();
    },
  );
  return (
    <Form form={form} layout="vertical" onFinish={submit} initialValues={{ name: root.name }}>
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="name"
        label={t('home.name.field')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('home.name.field') }) }]}
      >
        <Input maxLength={120} />
      </Form.Item>
      <Button type="primary" htmlType="submit" disabled={busy}>
        {t('home.name.save')}
      </Button>
    </Form>
  );
}
