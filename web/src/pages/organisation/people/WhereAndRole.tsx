import { Form, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Permission } from '../../../api/models';
import { useFormat } from '../../../i18n/format';
import { OrganisationSelect } from '../OrganisationSelect';
import { RoleEnd } from '../RoleEnd';
import { RoleSelect } from '../RoleSelect';

/** Where somebody will belong and with which role. */
export function WhereAndRole({ needs }: { needs: Permission }) {
  const { t } = useTranslation();
  const form = Form.useFormInstance<{ organisation_id?: string; role_id?: string }>();
  const organisation = Form.useWatch('organisation_id', form);
  const role = Form.useWatch('role_id', form);
  return (
    <>
      <Form.Item
        name="organisation_id"
        label={t('people.organisation')}
        rules={[{ required: true, message: t('form.needed', { field: t('people.organisation') }) }]}
      >
        <OrganisationSelect needs={needs} />
      </Form.Item>
      <Form.Item
        name="role_id"
        label={t('people.role')}
        rules={[{ required: true, message: t('form.needed', { field: t('people.role') }) }]}
      >
        <RoleSelect organisation={organisation} />
      </Form.Item>
      <RoleEnd role={role} organisation={organisation} />
    </>
  );
}

const HOURS = [24, 72, 168, 720];
export const USUAL_HOURS = 168;

/** How long a link or code works, with the moment it ends. */
export function HowLong() {
  const { t } = useTranslation();
  const { duration, day } = useFormat();
  const [now] = useState(() => Date.now());
  const ends = (hours: number) => new Date(now + hours * 3_600_000);
  return (
    <Form.Item name="expires_in_hours" label={t('people.invite.howLong')}>
      <Select
        options={HOURS.map((value) => ({
          value,
          label: t('people.invite.forUntil', { duration: duration(value * 3600), day: day(ends(value)) }),
        }))}
      />
    </Form.Item>
  );
}
