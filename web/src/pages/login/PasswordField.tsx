import { Form, Input } from 'antd';
import { useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';

interface Props {
  name: string;
  label: string;
  /** Tells password managers whether to fill or to offer a new one. */
  purpose: 'current-password' | 'new-password';
  hint?: string;
  minimum?: number;
  /** The one thing to do on its page. */
  first?: boolean;
}

/** A password with a caps-lock hint. */
export function PasswordField({ name, label, purpose, hint, minimum, first = false }: Props) {
  const { t } = useTranslation();
  const [capsLock, setCapsLock] = useState(false);
  const watch = (event: KeyboardEvent) => setCapsLock(event.getModifierState('CapsLock'));
  return (
    <Form.Item
      name={name}
      label={label}
      extra={
        capsLock ? (
          <span role="status" style={{ color: 'var(--c-amber)' }}>
            {t('door.capsLock')}
          </span>
        ) : (
          hint
        )
      }
      rules={[
        { required: true, message: t('form.needed', { field: label }) },
        ...(minimum ? [{ min: minimum, message: t('form.atLeast', { count: minimum }) }] : []),
      ]}
    >
      <Input.Password
        // eslint-disable-next-line jsx-a11y/no-autofocus -- only where nothing else is to be done
        autoFocus={first}
        autoComplete={purpose}
        onKeyDown={watch}
        onKeyUp={watch}
        onBlur={() => setCapsLock(false)}
      />
    </Form.Item>
  );
}
