import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { keys } from '../../../api/keys';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../OrganisationSelect';
import { usePlaces } from '../places';

interface Values {
  parent_id: string;
  name: string;
}

/** An organisation below another. */
export function NewOrganisation({
  parent,
  onMade,
  onClose,
}: {
  parent: string;
  onMade: (id: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { crumb } = usePlaces();
  const [form] = Form.useForm<Values>();
  const chosen = Form.useWatch('parent_id', form) ?? parent;
  const { submit, busy, error } = useSubmit(
    form,
    ({ parent_id, name }: Values) =>
      body(
        client.POST('/api/v1/organisations', {
          params: { header: idempotencyKey() },
          body: { parent_id, name: name.trim() },
        }),
      ),
    (made) => void queries.invalidateQueries({ queryKey: keys.organisations }).then(() => onMade(made.id)),
  );
  return (
    <SidePanel
      title={t('organisations.new')}
      subtitle={t('organisations.below', { name: crumb(chosen) })}
      onClose={onClose}
    >
      <Form<Values>
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={{ parent_id: parent }}
        aria-label={t('organisations.new')}
      >
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="name"
          label={t('organisations.name')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('organisations.name') }) }]}
        >
          <Input maxLength={120} autoComplete="off" />
        </Form.Item>
        <Form.Item name="parent_id" label={t('organisations.parent')} extra={t('organisations.parentHint')}>
          <OrganisationSelect needs="organisations.manage" />
        </Form.Item>
        <Button type="primary" htmlType="submit" disabled={busy}>
          {t('organisations.create')}
        </Button>
      </Form>
    </SidePanel>
  );
}
