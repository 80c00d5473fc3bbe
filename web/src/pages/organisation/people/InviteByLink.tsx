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
import { hoursWithin, useRoleEnd } from '../RoleEnd';
import { HowLong, USUAL_HOURS, WhereAndRole } from './WhereAndRole';

interface Values {
  organisation_id: string;
  role_id: string;
  mail?: string;
  expires_in_hours: number;
}

type Made = components['schemas']['CreatedInvitation'];

/** One person by a link that works once; with an address it is also mailed, if mail is set up. */
export function InviteByLink({ start }: { start: { organisation_id?: string; role_id?: string } }) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const queries = useQueryClient();
  const [made, setMade] = useState<Made | null>(null);
  const [form] = Form.useForm<Values>();
  const end = useRoleEnd(Form.useWatch('role_id', form), Form.useWatch('organisation_id', form), ['people.invite']);
  const { submit, busy, error } = useSubmit(
    form,
    ({ mail, expires_in_hours, ...rest }: Values) =>
      body(
        client.POST('/api/v1/invitations', {
          params: { header: idempotencyKey() },
          body: { ...rest, mail: mail?.trim() || null, expires_in_hours: hoursWithin(expires_in_hours, end) },
        }),
      ),
    (created) => {
      setMade(created);
      form.resetFields(['mail']);
      void queries.invalidateQueries({ queryKey: keys.invitations });
      void queries.invalidateQueries({ queryKey: keys.users });
    },
  );
  const mailed = (one: Made): string => {
    if (one.invitation.mailed_at) return t('people.invite.mailed', { mail: one.invitation.mail });
    return one.mail_problem
      ? t('people.invite.notMailed', { mail: one.invitation.mail, why: one.mail_problem })
      : t('people.invite.handOver');
  };
  return (
    <>
      <Form<Values>
        noValidate
        form={form}
        layout="vertical"
        onFinish={submit}
        initialValues={{
          organisation_id: start.organisation_id,
          role_id: start.role_id,
          expires_in_hours: USUAL_HOURS,
        }}
        aria-label={t('people.invite.kinds.link')}
      >
        {error !== null && <ProblemNotice error={error} />}
        <WhereAndRole needs="people.invite" />
        <Form.Item
          name="mail"
          label={t('people.invite.mail')}
          extra={t('people.invite.mailHint')}
          rules={[{ type: 'email', message: t('form.mail') }]}
        >
          <Input type="email" maxLength={254} autoComplete="off" />
        </Form.Item>
        <HowLong />
        <Button type="primary" htmlType="submit" disabled={busy}>
          {t('people.invite.makeLink')}
        </Button>
      </Form>
      <SecretOnce
        title={t('people.invite.linkTitle')}
        text={made && `${mailed(made)} ${t('people.invite.worksUntil', { time: moment(made.invitation.expires_at) })}`}
        secret={made?.url ?? null}
        onClose={() => setMade(null)}
      />
    </>
  );
}
