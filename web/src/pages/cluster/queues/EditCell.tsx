import { Input } from 'antd';
import { useState } from 'react';

interface Props {
  /** What it is, for those who hear it: "Guarantee of Vision Lab". */
  label: string;
  /** As stored, for people. */
  shown: string;
  /** As it would become, for people; equal to `shown` where nothing changes. */
  next: string;
  /** The text to begin editing with. */
  text: string;
  editable: boolean;
  /** Takes what was typed; false where it cannot be read. */
  onChange: (text: string) => boolean;
}

/** A number that becomes a field when it is clicked; a changed one shows what it was. */
export function EditCell({ label, shown, next, text, editable, onChange }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState(false);
  const changed = shown !== next;
  if (!editable) return <span className="number not-edited">{shown}</span>;
  const leave = () => {
    if (typed !== null && !onChange(typed)) {
      setWrong(true);
      return;
    }
    setWrong(false);
    setTyped(null);
  };
  return (
    <span className="edit-cell">
      {changed && <s className="text-3">{shown}</s>}
      {typed === null ? (
        <button
          type="button"
          className={changed ? 'plain cell-button changed' : 'plain cell-button'}
          aria-label={`${label}: ${next}`}
          onClick={() => setTyped(text)}
        >
          {next}
        </button>
      ) : (
        <Input
          // eslint-disable-next-line jsx-a11y/no-autofocus -- The field stands where the number was clicked.
          autoFocus
          size="small"
          aria-label={label}
          aria-invalid={wrong}
          status={wrong ? 'error' : undefined}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          onFocus={(event) => event.target.select()}
          onBlur={leave}
          onKeyDown={(event) => {
            if (event.key === 'Enter') leave();
            if (event.key === 'Escape') {
              setWrong(false);
              setTyped(null);
            }
          }}
        />
      )}
    </span>
  );
}
