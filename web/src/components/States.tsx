import { Button } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors';
import { Copyable } from './Copy';
import { CheckIcon, WarningIcon } from './icons';
import { useProblemText } from './problem-text';

/** Teaches in one sentence, one command, one button. */
export function EmptyState({
  title,
  text,
  command,
  actions,
}: {
  title: string;
  text: ReactNode;
  command?: string;
  actions?: ReactNode;
}) {
  return (
    <div className="teach">
      <h3>{title}</h3>
      <p>{text}</p>
      {command && <Copyable text={command} />}
      {actions && <div className="form-actions">{actions}</div>}
    </div>
  );
}

/** What is known, what is not affected, what happens next. */
export function ErrorState({ error, what, onRetry }: { error: unknown; what?: string; onRetry?: () => void }) {
  const { t } = useTranslation();
  const problem = useProblemText()(error);
  return (
    <div className="trouble" role="alert">
      <WarningIcon />
      <div>
        <h2>{what ? t('error.cannotShow', { what, reason: problem.title.replace(/[.。]$/, '') }) : problem.title}</h2>
        <p>{problem.text}</p>
        <div className="form-actions">
          {onRetry && (
            <Button size="small" onClick={onRetry}>
              {t('action.tryNow')}
            </Button>
          )}
          {error instanceof ApiError && error.requestId && (
            <span className="small text-3">{t('error.requestId', { id: error.requestId })}</span>
          )}
        </div>
      </div>
    </div>
  );
}

/** A refusal inside a form, with its remedy. */
export function ProblemNotice({ error }: { error: unknown }) {
  const problem = useProblemText()(error);
  return (
    <div className="notice error" role="alert">
      <WarningIcon />
      <div>
        <div className="strong">{problem.title}</div>
        {problem.text && <div>{problem.text}</div>}
      </div>
    </div>
  );
}

export function Notice({ tone, children }: { tone: 'good' | 'warning'; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role="status">
      {tone === 'good' ? <CheckIcon /> : <WarningIcon />}
      <div>{children}</div>
    </div>
  );
}

const widths = [58, 86, 92, 124];

/** Rows in the shape of what comes, after 200 ms; nothing jumps when it does. */
export function SkeletonRows({ rows = 6, height = 40 }: { rows?: number; height?: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('state.loading')}>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="row" style={{ height, gap: 24, flexWrap: 'nowrap' }}>
          {widths.map((width, column) => (
            <span key={width} className="bone" style={{ width: width + ((row * 31 + column * 17) % 40) }} />
          ))}
        </div>
      ))}
    </div>
  );
}

export function SkeletonAnswer() {
  return <span className="bone" style={{ width: 320, maxWidth: '80%', height: 18, margin: '5px 0' }} />;
}
