import { useId, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../components/Dialog';
import { SearchIcon } from '../components/icons';
import { usePaletteItems, type PaletteItem } from './palette-items';

/** Jump anywhere or do something by typing: arrows choose, Enter goes, Escape closes. */
export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const items = usePaletteItems(text);
  const at = Math.min(chosen, items.length - 1);
  const optionId = (index: number) => `${listId}-${index}`;

  const choose = (index: number) => {
    setChosen(index);
    document.getElementById(optionId(index))?.scrollIntoView({ block: 'nearest' });
  };
  const run = (item: PaletteItem | undefined) => {
    if (!item) return;
    onClose();
    item.run();
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return; // Enter ends a Chinese input, it does not jump.
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && items.length > 0) choose((at + step + items.length) % items.length);
    else if (event.key === 'Enter') run(items[at]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog label={t('palette.title')} className="palette" onClose={onClose}>
      <div className="palette-input">
        <SearchIcon />
        <input
          // eslint-disable-next-line jsx-a11y/no-autofocus -- the dialog exists to be typed into
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={items.length > 0 ? optionId(at) : undefined}
          aria-label={t('palette.title')}
          placeholder={t('palette.hint')}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={pressed}
        />
      </div>
      <div className="palette-list" id={listId} role="listbox" aria-label={t('palette.title')}>
        {items.map((item, index) => (
          <PaletteOption
            key={item.id}
            id={optionId(index)}
            item={item}
            heading={items[index - 1]?.group !== item.group}
            selected={index === at}
            onHover={() => setChosen(index)}
            onRun={() => run(item)}
          />
        ))}
      </div>
      {items.length === 0 && (
        <p className="palette-none" role="status">
          {t('palette.none', { text })}
        </p>
      )}
    </Dialog>
  );
}

function PaletteOption({
  id,
  item,
  heading,
  selected,
  onHover,
  onRun,
}: {
  id: string;
  item: PaletteItem;
  heading: boolean;
  selected: boolean;
  onHover: () => void;
  onRun: () => void;
}) {
  const { t } = useTranslation();
  return (
    <>
      {heading && (
        <div className="palette-group" role="presentation">
          {t(`palette.${item.group}`)}
        </div>
      )}
      {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events -- keys are handled by the combobox, as for every listbox */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={selected}
        className="palette-option"
        onMouseMove={onHover}
        onClick={onRun}
      >
        {item.icon}
        <span className="cut">{item.name}</span>
        {item.what && <span className="what nowrap">{item.what}</span>}
      </div>
    </>
  );
}
