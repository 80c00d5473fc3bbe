import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { keys } from '../../../api/keys';
import type { components } from '../../../api/schema';
import { SecretOnce } from '../../../components/Modals';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useFormat } from '../../../i18n/format';
import { WhereAndRole } from './WhereAndRole';

interface Values {
  name: string;
  display_name: string;
  mail?: string;
  organisation_id: string;
  role_id: string;
}

const USER_NAME = /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/;

/** Makes the account at once; its owner chooses a password with the login link. */
export function NewAccount({ start }: { start: { organisation_id?: string; role_id?: string } }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const queries = useQueryClient();
  const [made, setMade] = useState<components['schemas']['CreatedUser'] | null>(null);
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, display_name, mail, ...rest }: Values) =>
      body(
        client.POST('/api/v1/users', {
          params: { header: idempotencyKey() },
          body: {
            ...rest,
            name: name.trim(),
            display_name: display_name.trim(),
            mail: mail?.trim() || null,
            priority: 1,
          },
        }),
      ),
    (created) => {
      setMade(created);
      form.resetFields(['name', 'display_name', 'mail']);
      void queries.invalidateQueries({ queryKey: keys.users });
    },
  );
  const name = made?.user.display_name ?? '';
  return (
    <>
      <Form<Values>
        noValidate
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={{ organisation_id: start.organisation_id, role_id: start.role_id }}
        aria-label={t('people.invite.kinds.account')}
      >
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="display_name"
          label={t('people.name')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('people.name') }) }]}
        >
          <Input maxLength={120} autoComplete="off" />
        </Form.Item>
        <Form.Item
          name="name"
          label={t('field.userName')}
          extra={t('field.userNameHint')}
          rules={[
            { required: true, message: t('form.needed', { field: t('field.userName') }) },
            { pattern: USER_NAME, message: t('form.userName') },
          ]}
        >
          <Input maxLength={32} autoComplete="off" autoCapitalize="none" spellCheck={false} />
        </Form.Item>
        <Form.Item name="mail" label={t('field.mail')} rules={[{ type: 'email', message: t('form.mail') }]}>
          <Input type="email" maxLength={254} autoComplete="off" />
        </Form.Item>
        <WhereAndRole needs="people.manage" />
        <Button type="primary" htmlType="submit" disabled={busy}>
          {t('people.createAccount')}
        </Button>
      </Form>
      <SecretOnce
        title={t('people.linkTitle', { name })}
        text={made && t('people.linkText', { name, time: moment(made.login_link.expires_at) })}
        secret={made?.login_link.url ?? null}
        onClose={() => setMade(null)}
      />
    </>
  );
}
