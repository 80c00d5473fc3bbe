import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import type { User } from '../../../api/models';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { OrganisationSelect } from '../OrganisationSelect';
import { RoleEnd, useRoleEnd } from '../RoleEnd';
import { RoleSelect } from '../RoleSelect';
import { AllowedWords } from '../AllowedWords';

interface Values {
  organisation_id: string;
  role_id: string;
  /** A day as the browser's date field gives it, or empty. */
  expires_at?: string;
}

/** Role, organisation, optional end; what it will allow stands below before the button is pressed. */
export function GiveRole({ user, onGiven, onLeave }: { user: User; onGiven: () => void; onLeave: () => void }) {
  const { t } = useTranslation();
  const [form] = Form.useForm<Values>();
  const organisation = Form.useWatch('organisation_id', form);
  const role = Form.useWatch('role_id', form);
  const end = useRoleEnd(role, organisation);
  const { submit, busy, error } = useSubmit(
    form,
    ({ organisation_id, role_id, expires_at }: Values) =>
      body(
        client.POST('/api/v1/users/{user_id}/grants', {
          params: { path: { user_id: user.id }, header: idempotencyKey() },
          body: { organisation_id, role_id, expires_at: expires_at ? endOfDay(expires_at, end) : null },
        }),
      ),
    onGiven,
  );
  return (
    <Form<Values>
      form={form}
      layout="vertical"
      onFinish={submit}
      initialValues={{ organisation_id: user.organisations[0]?.id }}
      aria-label={t('people.giveRole')}
    >
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item
        name="organisation_id"
        label={t('people.onOrganisation')}
        rules={[{ required: true, message: t('form.needed', { field: t('people.onOrganisation') }) }]}
      >
        <OrganisationSelect needs="roles.grant" />
      </Form.Item>
      <Form.Item
        name="role_id"
        label={t('people.role')}
        rules={[{ required: true, message: t('form.needed', { field: t('people.role') }) }]}
      >
        <RoleSelect organisation={organisation} />
      </Form.Item>
      <Form.Item name="expires_at" label={t('people.until')} extra={t('people.untilHint')}>
        <Input type="date" min={dayOf(new Date())} max={end ? dayOf(new Date(end)) : undefined} />
      </Form.Item>
      <RoleEnd role={role} organisation={organisation} />
      {role && organisation && <AllowedWords role={role} organisation={organisation} />}
      <div className="form-actions">
        <Button type="primary" htmlType="submit" disabled={busy}>
          {t('people.give')}
        </Button>
        <Button type="text" onClick={onLeave}>
          {t('people.leave')}
        </Button>
      </div>
    </Form>
  );
}

const two = (value: number): string => String(value).padStart(2, '0');

function dayOf(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The last second of that day where the person at the screen is; on the day of `end`, that. */
function endOfDay(day: string, end: string | null): string {
  return end !== null && dayOf(new Date(end)) === day ? end : new Date(`${day}T23:59:59`).toISOString();
}
