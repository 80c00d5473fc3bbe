import { Button, Form, Input } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { Session } from '../../api/models';
import { WarningIcon } from '../../components/icons';
import { ProblemNotice } from '../../components/States';
import { useFormat } from '../../i18n/format';
import { PasswordField } from './PasswordField';

interface Values {
  name: string;
  password: string;
}

/** Name and password for a provider of kind "form". */
export function LoginForm({ provider, onEnter }: { provider: string; onEnter: (session: Session) => void }) {
  const { t } = useTranslation();
  const [form] = Form.useForm<Values>();
  const [busy, setBusy] = useState(false);
  const [forgotten, setForgotten] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const waitSeconds = useCountdown(
    error?.slug === 'too-many-tries' ? (error.number('retry_after_seconds') ?? 0) : 0,
    error,
  );

  const signIn = async ({ name, password }: Values) => {
    setBusy(true);
    try {
      onEnter(await body(client.POST('/api/v1/session', { body: { provider, name: name.trim(), password } })));
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      form.setFieldValue('password', '');
      (form.getFieldInstance('password') as { focus: () => void } | undefined)?.focus();
    } finally {
      setBusy(false);
    }
  };

  return (
    <Form<Values>
      form={form}
      layout="vertical"
      onFinish={signIn}
      validateTrigger="onSubmit"
      onValuesChange={(changed) => 'name' in changed && setError(null)}
    >
      {error && <LoginProblem error={error} waitSeconds={waitSeconds} />}
      <Form.Item
        name="name"
        label={t('field.userName')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.userName') }) }]}
      >
        {/* eslint-disable-next-line jsx-a11y/no-autofocus -- the one thing to do on this page */}
        <Input autoFocus autoComplete="username" autoCapitalize="none" spellCheck={false} />
      </Form.Item>
      <div className="beside-label">
        <PasswordField
          name="password"
          label={t('field.password')}
          purpose="current-password"
          hint={forgotten ? t('login.forgottenHow') : undefined}
        />
        <button
          type="button"
          className="plain forgotten"
          aria-expanded={forgotten}
          onClick={() => setForgotten(!forgotten)}
        >
          {t('login.forgotten')}
        </button>
      </div>
      <Button type="primary" htmlType="submit" block disabled={busy || waitSeconds > 0} style={{ marginTop: 8 }}>
        {t('login.signIn')}
      </Button>
    </Form>
  );
}

function LoginProblem({ error, waitSeconds }: { error: ApiError; waitSeconds: number }) {
  const { t } = useTranslation();
  const { duration } = useFormat();
  if (error.slug !== 'login-failed' && error.slug !== 'too-many-tries') return <ProblemNotice error={error} />;
  const triesLeft = error.number('tries_left');
  const failed = error.slug === 'login-failed';
  return (
    <div className="notice error" role="alert">
      <WarningIcon />
      <div>
        <div className="strong">{failed ? t('login.wrong') : t('login.tooMany')}</div>
        {failed && triesLeft !== null && <div>{t('login.triesLeft', { count: triesLeft })}</div>}
        {!failed && (
          <div>{waitSeconds > 0 ? t('login.wait', { duration: duration(waitSeconds) }) : t('login.again')}</div>
        )}
      </div>
    </div>
  );
}

/** Seconds left of a wait that starts again whenever its cause changes. */
function useCountdown(seconds: number, cause: unknown): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const until = Date.now() + seconds * 1000;
    const tick = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [seconds, cause]);
  return left;
}
