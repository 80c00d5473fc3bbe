import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { keys } from '../../api/keys';
import type { MailSettings } from '../../api/models';
import { useMe } from '../../api/session';
import { Notice, ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { useFormat } from '../../i18n/format';

/** Sends a real mail with the saved settings and says what the mail server answered. */
export function MailTest({ settings, changed }: { settings: MailSettings; changed: boolean }) {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const me = useMe();
  const queries = useQueryClient();
  const [taken, setTaken] = useState<{ to: string; at: string } | null>(null);
  const [form] = Form.useForm<{ to: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ to }: { to: string }) => {
      setTaken(null);
      return body(client.POST('/api/v1/settings/mail/test', { body: { to: to.trim() } }));
    },
    ({ to, tested_at }) => {
      setTaken({ to, at: tested_at });
      void queries.invalidateQueries({ queryKey: keys.checklist });
    },
    false,
  );
  const hindrance = !settings.host ? t('settings.testNoServer') : changed ? t('settings.testFirst') : null;
  return (
    <Form
      noValidate
      form={form}
      className="form spaced"
      layout="vertical"
      onFinish={submit}
      initialValues={{ to: me.mail ?? '' }}
      aria-label={t('settings.test')}
    >
      {taken && (
        <Notice tone="good">
          {t('settings.tested', { host: settings.host, to: taken.to, time: clock(taken.at) })}
        </Notice>
      )}
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="to"
        label={t('settings.testTo')}
        extra={hindrance}
        rules={[
          { required: true, message: t('form.needed', { field: t('settings.testTo') }) },
          { type: 'email', message: t('form.mail') },
        ]}
      >
        <Input type="email" autoComplete="email" />
      </Form.Item>
      <Button htmlType="submit" disabled={busy || hindrance !== null}>
        {t('settings.testSend')}
      </Button>
    </Form>
  );
}
