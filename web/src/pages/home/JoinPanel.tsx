import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client } from '../../api/client';
import { SidePanel } from '../../components/SidePanel';
import { ProblemNotice } from '../../components/States';
import { useSubmit } from '../../components/useSubmit';

/** Joins one more organisation with the account one has. */
export function JoinPanel({ onClose, onJoined }: { onClose: () => void; onJoined: (organisation: string) => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<{ code: string }>();
  const { submit, busy, error } = useSubmit(
    form,
    async ({ code }: { code: string }) => {
      const wanted = code.trim();
      const offer = await body(client.POST('/api/v1/join/preview', { body: { code: wanted } }));
      await body(client.POST('/api/v1/me/join', { body: { code: wanted } }));
      return offer.organisation_name;
    },
    (organisation) => {
      void queries.invalidateQueries();
      onJoined(organisation);
    },
  );
  return (
    <SidePanel title={t('join.title')} onClose={onClose}>
      <Form form={form} layout="vertical" onFinish={submit}>
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item
          name="code"
          label={t('field.joinCode')}
          rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('field.joinCode') }) }]}
        >
          <Input className="mono" autoComplete="off" spellCheck={false} />
        </Form.Item>
        <Button type="primary" htmlType="submit" disabled={busy}>
          {t('login.join')}
        </Button>
      </Form>
    </SidePanel>
  );
}
