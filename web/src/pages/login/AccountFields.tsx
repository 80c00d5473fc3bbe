import { Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { PasswordField } from './PasswordField';

export const PASSWORD_MINIMUM = 10;

export interface AccountValues {
  name: string;
  display_name: string;
  mail?: string;
  password: string;
}

/** What a new account needs: user name, name, mail where asked, password. */
export function AccountFields({ mail }: { mail: 'needed' | 'optional' | 'none' }) {
  const { t } = useTranslation();
  const needed = (field: string) => ({ required: true, whitespace: true, message: t('form.needed', { field }) });
  return (
    <>
      <Form.Item
        name="name"
        label={t('field.userName')}
        extra={t('field.userNameHint')}
        rules={[
          needed(t('field.userName')),
          { pattern: /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/, message: t('form.userName') },
        ]}
      >
        <Input autoComplete="username" autoCapitalize="none" spellCheck={false} maxLength={32} />
      </Form.Item>
      <Form.Item name="display_name" label={t('field.displayName')} rules={[needed(t('field.displayName'))]}>
        <Input autoComplete="name" maxLength={120} />
      </Form.Item>
      {mail !== 'none' && (
        <Form.Item
          name="mail"
          label={mail === 'optional' ? t('field.mailOptional') : t('field.mail')}
          rules={[{ type: 'email', message: t('form.mail') }, ...(mail === 'needed' ? [needed(t('field.mail'))] : [])]}
        >
          <Input type="email" autoComplete="email" maxLength={254} />
        </Form.Item>
      )}
      <PasswordField
        name="password"
        label={t('field.password')}
        purpose="new-password"
        hint={t('form.atLeast', { count: PASSWORD_MINIMUM })}
        minimum={PASSWORD_MINIMUM}
      />
    </>
  );
}
