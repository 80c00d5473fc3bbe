import { useQueryClient } from '@tanstack/react-query';
import { Button, Form } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { sessionQuery, signOut, useMe } from '../../api/session';
import { ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { useGo } from '../../shell/go';
import { PASSWORD_MINIMUM } from './AccountFields';
import { Door } from './Door';
import { PasswordField } from './PasswordField';

/** The first thing after a login with a given password or a link: a password of one's own. */
export default function FirstPasswordPage() {
  const { t } = useTranslation();
  const me = useMe();
  const queries = useQueryClient();
  const go = useGo();
  const [form] = Form.useForm<{ new_password: string; again: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ new_password }: { new_password: string }) =>
      body(client.POST('/api/v1/me/password', { body: { new_password } })),
    () => {
      void queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).then(() => go('/'));
    },
  );
  return (
    <Door
      title={t('password.first.title')}
      lead={t('password.first.lead', { name: me.name })}
      after={
        <Button type="link" size="small" style={{ padding: 0 }} onClick={() => void signOut()}>
          {t('shell.signOut')}
        </Button>
      }
    >
      <Form form={form} layout="vertical" onFinish={submit}>
        {error !== null && <ProblemNotice error={error} />}
        {/* Password managers file the new password under this name. */}
        <input type="text" name="username" autoComplete="username" defaultValue={me.name} hidden />
        <PasswordField
          first
          name="new_password"
          label={t('password.new')}
          purpose="new-password"
          hint={t('form.atLeast', { count: PASSWORD_MINIMUM })}
          minimum={PASSWORD_MINIMUM}
        />
        <Button type="primary" htmlType="submit" block disabled={busy} style={{ marginTop: 8 }}>
          {t('password.first.set')}
        </Button>
      </Form>
    </Door>
  );
}
