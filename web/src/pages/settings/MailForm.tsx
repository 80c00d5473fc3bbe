import { useQueryClient } from '@tanstack/react-query';
import { Button, Checkbox, Form, Input, InputNumber, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../api/client';
import { keys } from '../../api/keys';
import type { MailSettings } from '../../api/models';
import { mailSettingsQuery } from '../../api/platform';
import { ChangedMeanwhile } from '../../components/LatestVersion';
import { ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';

interface Values {
  host?: string | null;
  port: number;
  encryption: MailSettings['encryption'];
  sender?: string | null;
  user_name?: string | null;
  password?: string;
  forget?: boolean;
}

/** The outgoing mail server with its test. The password is never shown again. */
export function MailForm({
  settings,
  mayChange,
  changed,
  onChanged,
}: {
  settings: MailSettings;
  mayChange: boolean;
  changed: boolean;
  onChanged: (changed: boolean) => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ forget, password, host, sender, user_name, ...rest }: Values) =>
      body(
        client.PUT('/api/v1/settings/mail', {
          // Null keeps the stored password, an empty one forgets it.
          body: {
            ...rest,
            host: host?.trim() || null,
            sender: sender?.trim() || null,
            user_name: user_name?.trim() || null,
            password: forget ? '' : password || null,
          },
          params: { header: ifMatch(settings) },
        }),
      ),
    (saved) => {
      queries.setQueryData(mailSettingsQuery.queryKey, saved);
      void queries.invalidateQueries({ queryKey: keys.checklist });
      onChanged(false);
    },
  );
  return (
    <Form<Values>
      noValidate
      className="form spaced"
      form={form}
      layout="vertical"
      disabled={!mayChange}
      onFinish={submit}
      onValuesChange={() => onChanged(true)}
      initialValues={{
        host: settings.host,
        port: settings.port,
        encryption: settings.encryption,
        sender: settings.sender,
        user_name: settings.user_name,
      }}
    >
      <ChangedMeanwhile saving={busy} />
      {error !== null && <ProblemNotice error={error} />}
      <div className="pair">
        <Form.Item name="host" label={t('settings.host')} extra={t('settings.hostHint')}>
          <Input spellCheck={false} autoCapitalize="none" placeholder={t('settings.hostExample')} />
        </Form.Item>
        <Form.Item
          name="port"
          label={t('settings.port')}
          rules={[{ required: true, message: t('form.needed', { field: t('settings.port') }) }]}
        >
          <InputNumber min={1} max={65535} controls={false} style={{ width: '100%' }} />
        </Form.Item>
      </div>
      <Form.Item name="encryption" label={t('settings.encryption')}>
        <Select
          options={(['starttls', 'tls', 'none'] as const).map((value) => ({ value, label: t(`settings.${value}`) }))}
        />
      </Form.Item>
      <Form.Item
        name="sender"
        label={t('settings.sender')}
        extra={t('settings.senderHint')}
        rules={[{ type: 'email', message: t('form.mail') }]}
      >
        <Input type="email" autoComplete="off" placeholder={t('settings.senderExample')} />
      </Form.Item>
      <Form.Item name="user_name" label={t('settings.userName')}>
        <Input autoComplete="off" spellCheck={false} autoCapitalize="none" />
      </Form.Item>
      <Form.Item
        name="password"
        label={t('settings.password')}
        extra={settings.password_set ? t('settings.passwordKept') : undefined}
      >
        <Input.Password autoComplete="new-password" />
      </Form.Item>
      {settings.password_set && (
        <Form.Item name="forget" valuePropName="checked">
          <Checkbox>{t('settings.passwordForget')}</Checkbox>
        </Form.Item>
      )}
      <Button type="primary" htmlType="submit" disabled={busy || !changed || !mayChange}>
        {t('settings.saveMail')}
      </Button>
    </Form>
  );
}
