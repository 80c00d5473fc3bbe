import { Button, Form } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { EmptyState, Notice, ProblemNotice, SkeletonRows } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { AccountFields, type AccountValues } from './AccountFields';
import { Door, useLoginOptions } from './Door';
import { ToLogin } from './JoinPage';

/** Ask for an account; it stays inactive until somebody approves it. */
export default function SignUpPage() {
  const { t } = useTranslation();
  const { data: options } = useLoginOptions();
  const [sent, setSent] = useState(false);
  const [form] = Form.useForm<AccountValues>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, display_name, mail, password }: AccountValues) =>
      body(client.POST('/api/v1/sign-up', { body: { name, display_name, mail: mail ?? '', password } })),
    () => setSent(true),
  );
  return (
    <Door title={t('signUp.title')} lead={t('signUp.lead')} after={<ToLogin />}>
      {!options && <SkeletonRows rows={4} />}
      {options && !options.sign_up && <EmptyState title={t('signUp.off')} text={t('signUp.offText')} />}
      {sent && <Notice tone="good">{t('signUp.sent')}</Notice>}
      {options?.sign_up && !sent && (
        <Form<AccountValues> noValidate form={form} layout="vertical" onFinish={submit}>
          {error !== null && <ProblemNotice error={error} />}
          <AccountFields mail="needed" />
          <Button type="primary" htmlType="submit" block disabled={busy} style={{ marginTop: 8 }}>
            {t('signUp.ask')}
          </Button>
        </Form>
      )}
    </Door>
  );
}
