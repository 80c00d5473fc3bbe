import { Button, Input, Modal } from 'antd';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './Copy';
import { ProblemNotice } from './States';

/** Shows a secret the one time it exists in readable form. Closing needs the button, so it is not lost by a stray click. */
export function SecretOnce({
  title,
  text,
  secret,
  onClose,
}: {
  title: string;
  text: ReactNode;
  secret: string | null;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Modal
      open={secret !== null}
      title={title}
      onCancel={onClose}
      mask={{ closable: false }}
      closable={false}
      keyboard={false}
      destroyOnHidden
      footer={
        <div className="form-actions" style={{ justifyContent: 'flex-end' }}>
          <CopyButton text={secret ?? ''} size="middle" type="primary" />
          <Button onClick={onClose}>{t('secret.kept')}</Button>
        </div>
      }
    >
      <p className="text-2">{text}</p>
      <pre className="command secret">{secret}</pre>
      <p className="small text-2">{t('secret.once')}</p>
    </Modal>
  );
}

interface ConfirmProps {
  open: boolean;
  title: string;
  /** Who and what it hits, and whether it can be undone. */
  text: ReactNode;
  /** The word to type; without it a click is enough (own small things). */
  name?: string;
  action: string;
  keep: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** A destructive act: says what it does before the button works; shared things ask for the name. */
export function ConfirmByName(props: ConfirmProps) {
  return (
    <Modal open={props.open} title={props.title} onCancel={props.onClose} footer={null} destroyOnHidden>
      <ConfirmBody {...props} />
    </Modal>
  );
}

function ConfirmBody({ text, name, action, keep, onConfirm, onClose }: ConfirmProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
    >
      <div className="text-2" style={{ marginBottom: 16 }}>
        {text}
      </div>
      {error !== null && <ProblemNotice error={error} />}
      <div className="form-actions confirm-actions">
        {name !== undefined && (
          <label className="confirm-name">
            <span className="small text-2">{t('confirm.typeName', { name })}</span>
            <Input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
        )}
        <Button type="text" onClick={onClose}>
          {keep}
        </Button>
        <Button danger htmlType="submit" disabled={busy || (name !== undefined && typed.trim() !== name)}>
          {action}
        </Button>
      </div>
    </form>
  );
}
