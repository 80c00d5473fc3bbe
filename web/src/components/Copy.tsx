import { Button } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CheckIcon, CopyIcon } from './icons';

/** Copies and says so on the button; where the clipboard is not allowed (plain http by name), it says that. */
export function CopyButton({
  text,
  label,
  size = 'small',
  type = 'text',
}: {
  text: string;
  label?: string;
  size?: 'small' | 'middle';
  type?: 'text' | 'default' | 'primary';
}) {
  const { t } = useTranslation();
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle');
  useEffect(() => {
    if (state === 'idle') return undefined;
    const timer = setTimeout(() => setState('idle'), 2500);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch (error) {
      if (!(error instanceof DOMException) && !(error instanceof TypeError)) throw error;
      setState('refused');
    }
  };
  const words = { idle: label ?? t('action.copy'), copied: t('action.copied'), refused: t('action.copyByHand') };
  return (
    <Button
      size={size}
      type={type}
      icon={state === 'copied' ? <CheckIcon /> : <CopyIcon />}
      onClick={copy}
      aria-live="polite"
    >
      {words[state]}
    </Button>
  );
}

/** A command or address on one line with its copy button. */
export function Copyable({ text }: { text: string }) {
  return (
    <div className="copyable">
      <pre className="command">{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
