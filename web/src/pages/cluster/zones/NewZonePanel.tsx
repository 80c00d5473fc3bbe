import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { keys, keysOfKind } from '../../../api/keys';
import { AsCommand } from '../../../components/AsCommand';
import { SidePanel } from '../../../components/SidePanel';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import { addZoneCommand } from './zone-command';

const EXAMPLE = '4x8xH100-80GB';

interface Values {
  name: string;
  nodes: string;
}

/** A zone whose nodes schedule and meter, and compute nothing. */
export function NewZonePanel({ onClose, onDone }: { onClose: () => void; onDone: (id: string) => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<Values>();
  const typed = Form.useWatch([], form);
  const { submit, busy, error } = useSubmit(
    form,
    ({ name, nodes }: Values) =>
      body(
        client.POST('/api/v1/zones', {
          params: { header: idempotencyKey() },
          body: { name: name.trim(), nodes: nodes.trim(), kind: 'simulated' as const },
        }),
      ),
    ({ id }) =>
      void Promise.all(
        keysOfKind('zone')
          .filter((key) => key !== keys.audit)
          .map((queryKey) => queries.invalidateQueries({ queryKey })),
      ).then(() => onDone(id)),
  );
  const needed = (field: string) => [{ required: true, whitespace: true, message: t('form.needed', { field }) }];
  const given = { name: typed?.name?.trim() || 'lab', nodes: typed?.nodes?.trim() || EXAMPLE };
  return (
    <SidePanel title={t('zones.addZone')} subtitle={t('zones.addZoneNote')} onClose={onClose}>
      <p className="effect">{t('zones.addZoneEffect')}</p>
      <Form<Values> form={form} layout="vertical" onFinish={submit} aria-label={t('zones.addZone')}>
        {error !== null && <ProblemNotice error={error} />}
        <Form.Item name="name" label={t('zones.zoneName')} rules={needed(t('zones.zoneName'))}>
          <Input maxLength={80} autoComplete="off" spellCheck={false} />
        </Form.Item>
        <Form.Item
          name="nodes"
          label={t('zones.nodesField')}
          extra={t('zones.nodesHint')}
          rules={needed(t('zones.nodesField'))}
        >
          <Input.TextArea
            className="mono"
            autoSize={{ minRows: 1, maxRows: 12 }}
            placeholder={EXAMPLE}
            maxLength={2000}
            spellCheck={false}
            autoCapitalize="none"
          />
        </Form.Item>
        <div className="form-actions">
          <Button type="primary" htmlType="submit" disabled={busy}>
            {t('zones.createZone')}
          </Button>
          <Button type="text" onClick={onClose}>
            {t('people.leave')}
          </Button>
          <AsCommand
            cli={addZoneCommand(given.name, given.nodes)}
            api="POST /api/v1/zones"
            body={{ ...given, kind: 'simulated' }}
          />
        </div>
      </Form>
    </SidePanel>
  );
}
