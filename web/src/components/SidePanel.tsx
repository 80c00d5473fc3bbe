import { Button } from 'antd';
import { useEffect, useRef, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CloseIcon } from './icons';

/** A 372 px drawer beside the list, which stays usable; the whole screen on a phone. Escape closes it. */
export function SidePanel({
  title,
  subtitle,
  avatar,
  onClose,
  children,
}: {
  title: string;
  subtitle?: ReactNode;
  avatar?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes the panel from anywhere inside it.
    <aside
      ref={panel}
      className="side-panel"
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        // Closing may ask a question, which the same key must not answer.
        event.stopPropagation();
        onClose();
      }}
    >
      <div className="side-panel-head">
        {avatar}
        <div className="cut" style={{ flex: 1 }}>
          <h2 className="cut">{title}</h2>
          {subtitle && <div className="small text-2 cut">{subtitle}</div>}
        </div>
        <Button type="text" icon={<CloseIcon />} onClick={onClose} aria-label={t('action.close')} />
      </div>
      {children}
    </aside>
  );
}
