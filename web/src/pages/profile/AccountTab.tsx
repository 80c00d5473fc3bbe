import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input, Segmented, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../api/client';
import { keys } from '../../api/keys';
import type { Session, User } from '../../api/models';
import { useMe, useSession } from '../../api/session';
import { Section } from '../../components/Page';
import { Notice, ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { languages } from '../../i18n/languages';
import { themes, useChangePreferences } from '../../shell/preferences-of-me';
import { usePreferences } from '../../theme/preferences';
import { PASSWORD_MINIMUM } from '../login/AccountFields';
import { PasswordField } from '../login/PasswordField';

export function AccountTab() {
  return (
    <>
      <AboutMe />
      <Appearance />
      <Password />
    </>
  );
}

function AboutMe() {
  const { t } = useTranslation();
  const me = useMe();
  const queries = useQueryClient();
  const [saved, setSaved] = useState(false);
  const [form] = Form.useForm<{ display_name: string; mail: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ display_name, mail }: { display_name: string; mail?: string }) =>
      body(
        client.PATCH('/api/v1/me', {
          body: { display_name: display_name.trim(), mail: mail?.trim() || null },
          params: { header: ifMatch(me) },
        }),
      ),
    (user: User) => {
      queries.setQueryData<Session | null>(keys.session, (session) => session && { ...session, user });
      setSaved(true);
    },
  );
  return (
    <Section title={t('profile.account.about')}>
      <Form
        noValidate
        className="form spaced"
        form={form}
        layout="vertical"
        onFinish={submit}
        onValuesChange={() => setSaved(false)}
        initialValues={{ display_name: me.display_name, mail: me.mail ?? '' }}
      >
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item label={t('field.userName')} htmlFor="profile-user-name" extra={t('profile.account.userNameFixed')}>
          <Input id="profile-user-name" value={me.name} readOnly variant="filled" />
        </Form.Item>
        <Form.Item
          name="display_name"
          label={t('field.displayName')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.displayName') }) }]}
        >
          <Input autoComplete="name" maxLength={120} />
        </Form.Item>
        <Form.Item name="mail" label={t('field.mail')} rules={[{ type: 'email', message: t('form.mail') }]}>
          <Input type="email" autoComplete="email" maxLength={254} />
        </Form.Item>
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {t('profile.account.save')}
          </Button>
          {saved && (
            <span className="chip green" role="status">
              {t('form.saved')}
            </span>
          )}
        </div>
      </Form>
    </Section>
  );
}

function Appearance() {
  const { t } = useTranslation();
  const { theme, language } = usePreferences();
  const { chooseTheme, chooseLanguage } = useChangePreferences();
  return (
    <Section title={t('profile.account.appearance')} note={t('profile.account.appearanceNote')}>
      <div className="row">
        <span className="row-label" id="profile-theme">
          {t('shell.theme')}
        </span>
        <Segmented
          aria-labelledby="profile-theme"
          value={theme}
          onChange={chooseTheme}
          options={themes.map((value) => ({ value, label: t(`theme.${value}`) }))}
        />
      </div>
      <div className="row">
        <span className="row-label">{t('shell.language')}</span>
        <Select
          aria-label={t('shell.language')}
          style={{ minWidth: 160 }}
          value={language}
          onChange={chooseLanguage}
          options={languages.map(({ key, name }) => ({ value: key, label: name }))}
        />
      </div>
    </Section>
  );
}

interface PasswordValues {
  current_password?: string;
  new_password: string;
}

function Password() {
  const { t } = useTranslation();
  const { user: me, current_password_needed } = useSession();
  const queries = useQueryClient();
  const [changed, setChanged] = useState(false);
  const [form] = Form.useForm<PasswordValues>();
  const { submit, busy, error } = useSubmit(
    form,
    (values: PasswordValues) => body(client.POST('/api/v1/me/password', { body: values })),
    () => {
      form.resetFields();
      setChanged(true);
      void queries.invalidateQueries({ queryKey: keys.session });
    },
  );
  return (
    <Section title={t('field.password')}>
      <Form
        noValidate
        className="form spaced"
        form={form}
        layout="vertical"
        onFinish={submit}
        onValuesChange={() => setChanged(false)}
      >
        {changed && <Notice tone="good">{t('password.changed')}</Notice>}
        {error !== null && <ProblemNotice error={error} />}
        <input type="text" name="username" autoComplete="username" defaultValue={me.name} hidden />
        {/* Who came by a login link may have forgotten it. */}
        {current_password_needed && (
          <PasswordField name="current_password" label={t('password.current')} purpose="current-password" />
        )}
        <PasswordField
          name="new_password"
          label={t('password.new')}
          purpose="new-password"
          hint={t('form.atLeast', { count: PASSWORD_MINIMUM })}
          minimum={PASSWORD_MINIMUM}
        />
        <Button htmlType="submit" disabled={busy}>
          {t('password.change')}
        </Button>
      </Form>
    </Section>
  );
}
