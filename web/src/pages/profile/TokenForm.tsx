import { Button, Checkbox, Form, Input, Radio, Select } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../api/client';
import type { TokenScope } from '../../api/models';
import { permissionsOf, useSession } from '../../api/session';
import { ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';
import { usePermissionWords } from '../../components/permission-words';
import { useFormat } from '../../i18n/format';

interface Values {
  name: string;
  reach: 'everything' | 'some';
  scopes?: TokenScope[];
  days: number;
}

// Needs no role; the command asks for it to know whose work is meant.
const OWN_ACCOUNT: TokenScope = 'account.read';
const DAYS = [7, 30, 90, 365];
const expiryAfter = (days: number): Date => new Date(Date.now() + days * 86_400_000);

/** A new token: its name, what it may, until when. */
export function TokenForm({ onMade }: { onMade: (secret: string) => void }) {
  const { t } = useTranslation();
  const { day } = useFormat();
  const words = usePermissionWords();
  const held = permissionsOf(useSession());
  const [form] = Form.useForm<Values>();
  const reach = Form.useWatch('reach', form);
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, reach: chosen, scopes, days }: Values) =>
      body(
        client.POST('/api/v1/me/tokens', {
          body: {
            name: name.trim(),
            scopes: chosen === 'everything' ? ['*'] : (scopes ?? []),
            expires_at: expiryAfter(days).toISOString(),
          },
          params: { header: idempotencyKey() },
        }),
      ),
    ({ secret }) => onMade(secret),
  );
  return (
    <Form<Values>
      form={form}
      layout="vertical"
      onFinish={submit}
      initialValues={{ reach: 'everything', days: 30, scopes: [OWN_ACCOUNT] }}
    >
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="name"
        label={t('field.name')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.name') }) }]}
      >
        <Input maxLength={64} placeholder={t('profile.tokens.nameHint')} />
      </Form.Item>
      <Form.Item name="days" label={t('profile.tokens.expires')}>
        <Select
          options={DAYS.map((value) => ({
            value,
            label: t('profile.tokens.inDays', { count: value, day: day(expiryAfter(value)) }),
          }))}
        />
      </Form.Item>
      <Form.Item name="reach" label={t('profile.tokens.scopes')}>
        <Radio.Group
          className="scopes"
          options={[
            { value: 'everything', label: t('profile.tokens.everythingLong') },
            { value: 'some', label: t('profile.tokens.some') },
          ]}
        />
      </Form.Item>
      {reach === 'some' && (
        <Form.Item name="scopes" rules={[{ required: true, message: t('profile.tokens.chooseOne') }]}>
          <Checkbox.Group
            className="scopes"
            options={[OWN_ACCOUNT, ...held].map((value) => ({ value, label: words(value) }))}
          />
        </Form.Item>
      )}
      <Button type="primary" htmlType="submit" disabled={busy}>
        {t('profile.tokens.create')}
      </Button>
    </Form>
  );
}
