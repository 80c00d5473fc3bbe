import { Button, Form, Input } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { User } from '../../../api/models';
import { ChangedMeanwhile } from '../../../components/LatestVersion';
import { Section } from '../../../components/Page';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { useChangePerson } from './change-person';

interface Values {
  display_name: string;
  mail?: string;
}

/** Name and mail; the user name stays as it is. */
export function PersonDetails({ user }: { user: User }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  return (
    <Section
      title={t('people.details')}
      aside={
        <Button
          type="link"
          size="small"
          style={{ padding: 0, height: 20 }}
          aria-expanded={editing}
          onClick={() => setEditing(!editing)}
        >
          {t('people.changeDetails')}
        </Button>
      }
    >
      {editing ? (
        <DetailsForm user={user} onSaved={() => setEditing(false)} />
      ) : (
        <p className="effect" style={{ marginTop: 8 }}>
          {t('people.signsInAs', { name: user.name })} {user.mail ?? t('people.noMail')}
        </p>
      )}
    </Section>
  );
}

function DetailsForm({ user, onSaved }: { user: User; onSaved: () => void }) {
  const { t } = useTranslation();
  const change = useChangePerson(user);
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    ({ display_name, mail }: Values) => change({ display_name: display_name.trim(), mail: mail?.trim() || null }),
    onSaved,
  );
  return (
    <Form<Values>
      noValidate
      form={form}
      layout="vertical"
      onFinish={submit}
      initialValues={{ display_name: user.display_name, mail: user.mail ?? '' }}
      aria-label={t('people.details')}
    >
      <ChangedMeanwhile saving={busy} />
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="display_name"
        label={t('people.name')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('people.name') }) }]}
      >
        <Input maxLength={120} autoComplete="off" />
      </Form.Item>
      <Form.Item name="mail" label={t('field.mail')} rules={[{ type: 'email', message: t('form.mail') }]}>
        <Input type="email" maxLength={254} autoComplete="off" />
      </Form.Item>
      <Button type="primary" htmlType="submit" disabled={busy}>
        {t('people.saveDetails')}
      </Button>
    </Form>
  );
}
