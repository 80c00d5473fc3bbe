import { useId, useState, type ReactNode } from 'react';
import { ChevronDown, ChevronRight } from './icons';

/** A line that says what is set; opened, the fields that set it. */
export function Fold({ title, summary, children }: { title: string; summary: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <div className="fold">
      <button
        type="button"
        className="plain fold-head"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        {open ? <ChevronDown size={14} /> : <ChevronRight size={14} />}
        <span className="fold-title">{title}</span>
        <span className="text-2 cut">{summary}</span>
      </button>
      <div id={id} className="fold-body" hidden={!open}>
        {open && children}
      </div>
    </div>
  );
}
