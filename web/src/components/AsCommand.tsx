import { Button, Popover } from 'antd';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './Copy';
import { CodeIcon } from './icons';

export interface Scriptable {
  /** The corral command that shows or does the same, where there is one. */
  cli?: string;
  /** Method and path of the API call, e.g. "GET /api/v1/users". */
  api: string;
  /** JSON body of the call, where it has one. */
  body?: unknown;
}

/** What you see you can script: the same view as command and as API call. */
export function AsCommand({ cli, api, body, size }: Scriptable & { size?: 'small' }) {
  const { t } = useTranslation();
  const [method = 'GET', path = ''] = api.split(' ', 2);
  const call = curl(method, path, body);
  return (
    <Popover
      trigger="click"
      placement="bottomRight"
      content={
        <div style={{ width: 420, maxWidth: '80vw' }}>
          {cli && <CodeBlock title={t('asCommand.cli')} text={cli} />}
          <CodeBlock title={t('asCommand.api')} text={call} />
        </div>
      }
    >
      <Button className="only-desk" size={size} icon={<CodeIcon />}>
        {t('asCommand.title')}
      </Button>
    </Popover>
  );
}

function CodeBlock({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <div className="row" style={{ border: 0, minHeight: 26, padding: 0, flexWrap: 'nowrap' }}>
        <span className="small text-2 grow">{title}</span>
        <CopyButton text={text} />
      </div>
      <pre className="command" style={{ marginTop: 2 }}>
        {text}
      </pre>
    </div>
  );
}

function curl(method: string, path: string, body: unknown): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${location.origin}${path}"`,
    '  -H "Authorization: Bearer $CORRAL_TOKEN"',
  ];
  if (body !== undefined) lines.push('  -H "Content-Type: application/json"', `  -d '${JSON.stringify(body)}'`);
  return lines.join(' \\\n');
}
