import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { body, client, idempotencyKey } from '../../../api/client';
import { keys } from '../../../api/keys';
import { ProblemNotice } from '../../../components/States';
import { useSubmit } from '../../../components/useSubmit';
import type { ImportOutcome } from './import-words';
import { WhereAndRole } from './WhereAndRole';

interface Values {
  organisation_id: string;
  role_id: string;
  csv: string;
}

const imported = ({ dry_run }: ImportOutcome): boolean => !dry_run;

/** Where to, which role, and the lines from a file or pasted. Checking comes before importing. */
export function ImportForm({
  start,
  outcome,
  onOutcome,
}: {
  start: { organisation_id?: string; role_id?: string };
  outcome: ImportOutcome | null;
  onOutcome: (outcome: ImportOutcome | null) => void;
}) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [form] = Form.useForm<Values>();
  const [fileName, setFileName] = useState<string | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const checked = outcome?.dry_run === true && outcome.errors === 0;
  const { submit, busy, error, clear } = useSubmit(
    form,
    (values: Values) =>
      body(
        client.POST('/api/v1/users/import', {
          params: { header: idempotencyKey() },
          body: { ...values, dry_run: !checked },
        }),
      ),
    (result) => {
      onOutcome(result);
      if (!result.dry_run) void queries.invalidateQueries({ queryKey: keys.users });
    },
    imported,
  );
  const read = async (chosen: File | undefined) => {
    if (!chosen) return;
    form.setFieldValue('csv', await chosen.text());
    setFileName(chosen.name);
    changed();
  };
  // What was checked is no longer what would be imported.
  const changed = () => {
    onOutcome(null);
    clear();
  };
  const count = outcome ? outcome.created + outcome.added : 0;
  return (
    <Form<Values>
      form={form}
      layout="vertical"
      onFinish={submit}
      onValuesChange={changed}
      initialValues={{ organisation_id: start.organisation_id, role_id: start.role_id }}
      aria-label={t('people.import.title')}
    >
      {error !== null && <ProblemNotice error={error} />}
      <WhereAndRole needs="people.manage" />
      <div className="form-actions" style={{ marginBottom: 8 }}>
        <input
          ref={file}
          type="file"
          accept=".csv,text/csv,text/plain"
          style={{ display: 'none' }}
          aria-label={t('people.import.choose')}
          onChange={(event) => void read(event.target.files?.[0])}
        />
        <Button onClick={() => file.current?.click()}>{t('people.import.choose')}</Button>
        <span className="small text-2 cut">{fileName ?? t('people.import.orPaste')}</span>
      </div>
      <Form.Item
        className="import-text"
        name="csv"
        label={t('people.import.lines')}
        extra={t('people.import.columns')}
        rules={[{ required: true, whitespace: true, message: t('form.needed', { field: t('people.import.lines') }) }]}
      >
        <Input.TextArea autoSize={{ minRows: 8, maxRows: 20 }} spellCheck={false} wrap="off" />
      </Form.Item>
      <Button
        type="primary"
        htmlType="submit"
        disabled={busy || outcome?.dry_run === false || (checked && count === 0)}
      >
        {checked ? t('people.import.import', { count }) : t('people.import.check')}
      </Button>
    </Form>
  );
}
