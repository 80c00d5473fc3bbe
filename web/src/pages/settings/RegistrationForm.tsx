import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Button, Form, Radio, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, ifMatch } from '../../api/client';
import { keys } from '../../api/keys';
import type { RegistrationSettings } from '../../api/models';
import { flatten, organisationsQuery, organisationTree } from '../../api/organisations';
import { registrationSettingsQuery } from '../../api/platform';
import { ChangedMeanwhile } from '../../components/LatestVersion';
import { ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';

interface Values {
  sign_up: boolean;
  organisation_id: string;
}

/** Whether people may ask for an account, and where they then belong. */
export function RegistrationForm({ settings, mayChange }: { settings: RegistrationSettings; mayChange: boolean }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const { data: organisations = [] } = useQuery(organisationsQuery);
  const [changed, setChanged] = useState(false);
  const [form] = Form.useForm<Values>();
  const { submit, busy, error } = useSubmit(
    form,
    (values: Values) =>
      body(client.PUT('/api/v1/settings/registration', { body: values, params: { header: ifMatch(settings) } })),
    (saved) => {
      queries.setQueryData(registrationSettingsQuery.queryKey, saved);
      void queries.invalidateQueries({ queryKey: keys.loginOptions });
      setChanged(false);
    },
  );
  return (
    <Form<Values>
      className="form spaced"
      form={form}
      layout="vertical"
      disabled={!mayChange}
      onFinish={submit}
      onValuesChange={() => setChanged(true)}
      initialValues={{ sign_up: settings.sign_up, organisation_id: settings.organisation_id }}
    >
      <ChangedMeanwhile saving={busy} />
      {error !== null && <ProblemNotice error={error} />}
      <Form.Item name="sign_up" label={t('settings.signUp')} extra={t('settings.signUpHint')}>
        <Radio.Group
          options={[
            { value: true, label: t('settings.signUpOn') },
            { value: false, label: t('settings.signUpOff') },
          ]}
        />
      </Form.Item>
      <Form.Item name="organisation_id" label={t('settings.organisation')}>
        <Select
          showSearch={{ optionFilterProp: 'label' }}
          options={flatten(organisationTree(organisations)).map((node) => ({ value: node.id, label: node.name }))}
        />
      </Form.Item>
      <Button type="primary" htmlType="submit" disabled={busy || !changed || !mayChange}>
        {t('settings.saveRegistration')}
      </Button>
    </Form>
  );
}
