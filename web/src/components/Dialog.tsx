import { useEffect, useRef, type ReactNode } from 'react';

/** A native modal dialog: the browser keeps the focus inside, Escape and a click beside it close it. */
export function Dialog({
  label,
  className,
  onClose,
  children,
}: {
  label: string;
  className: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  useEffect(() => {
    const element = dialog.current;
    if (!element) return undefined;
    const cancelled = (event: Event) => {
      event.preventDefault();
      close.current();
    };
    const clicked = (event: MouseEvent) => {
      if (event.target === element) close.current();
    };
    element.addEventListener('cancel', cancelled);
    element.addEventListener('click', clicked);
    if (!element.open) element.showModal();
    return () => {
      element.removeEventListener('cancel', cancelled);
      element.removeEventListener('click', clicked);
      element.close();
    };
  }, []);
  return (
    <dialog ref={dialog} className={className} aria-label={label}>
      {children}
    </dialog>
  );
}
