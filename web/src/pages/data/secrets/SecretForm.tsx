import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../../api/client';
import type { Secret } from '../../../api/models';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useFormat } from '../../../i18n/format';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;

interface Values {
  name: string;
  value: string;
}

interface Props {
  /** Null for a new one. */
  secret: Secret | null;
  /** Names that a new one would replace. */
  taken: readonly Secret[];
  onSaved: () => void;
  onClose: () => void;
  onDelete: (() => void) | undefined;
}

/** A new secret, or a new value for one; what it was is never shown. */
export function SecretForm({ secret, taken, onSaved, onClose, onDelete }: Props) {
  const { t } = useTranslation();
  const { moment } = useFormat();
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, value }: Values) =>
      body(
        client.PUT('/api/v1/me/secrets/{name}', {
          params: { path: { name: secret?.name ?? name.trim() } },
          body: { value },
        }),
      ),
    () => {
      // Not even the browser keeps it longer than needed.
      form.resetFields();
      onSaved();
    },
  );
  const needed = (field: string) => ({ required: true, whitespace: true, message: t('form.needed', { field }) });
  return (
    <SidePanel
      title={secret?.name ?? t('secrets.new')}
      subtitle={secret ? t('secrets.setAt', { time: moment(secret.created_at) }) : t('secrets.newNote')}
      onClose={onClose}
    >
      {secret && <p className="effect">{t('secrets.hidden')}</p>}
      <Form<Values> form={form} layout="vertical" onFinish={submit} aria-label={secret?.name ?? t('secrets.new')}>
        {error !== null && <ProblemNotice error={error} />}
        {!secret && (
          <Form.Item
            name="name"
            label={t('field.name')}
            extra={t('secrets.nameHint')}
            rules={[
              needed(t('field.name')),
              { pattern: NAME, message: t('secrets.nameRule') },
              {
                validator: (_, name: string | undefined) =>
                  taken.some((one) => one.name === name?.trim())
                    ? Promise.reject(new Error(t('secrets.taken')))
                    : Promise.resolve(),
              },
            ]}
          >
            <Input maxLength={100} autoComplete="off" spellCheck={false} autoCapitalize="none" />
          </Form.Item>
        )}
        <Form.Item
          name="value"
          label={secret ? t('secrets.newValue') : t('secrets.value')}
          extra={t('secrets.valueHint')}
          rules={[{ required: true, message: t('form.needed', { field: t('secrets.value') }) }]}
        >
          <Input.TextArea
            className="mono masked"
            rows={4}
            maxLength={32768}
            autoComplete="off"
            spellCheck={false}
            autoCapitalize="none"
            data-1p-ignore
          />
        </Form.Item>
        {secret && <p className="effect">{t('secrets.replaceEffect')}</p>}
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {secret ? t('secrets.replace') : t('secrets.create')}
          </Button>
          <Button type="text" onClick={onClose}>
            {t('people.leave')}
          </Button>
          {onDelete && (
            <Button danger type="text" onClick={onDelete}>
              {t('secrets.delete')}
            </Button>
          )}
        </div>
      </Form>
    </SidePanel>
  );
}
