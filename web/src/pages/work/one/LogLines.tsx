import { Button } from 'antd';
import { memo, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../i18n/format';
import { useSize } from '../amounts';
import type { Line } from './log-lines';
import type { Log } from './useLog';

const BLOCK = 200;
const NEAR_END = 12;

/** Follows the end unless one has scrolled up; blocks out of sight are not drawn. */
export function LogLines({ lines, status, wanted = '' }: { lines: Line[]; status: Log['status']; wanted?: string }) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  useLayoutEffect(() => {
    if (atEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, atEnd]);
  const first = lines[0]?.id ?? 0;
  const blocks: Line[][] = [];
  for (let index = 0; index < lines.length; index += BLOCK) blocks.push(lines.slice(index, index + BLOCK));
  return (
    <>
      <div
        ref={box}
        className="log-lines"
        role="log"
        aria-label={t('work.log.label')}
        aria-live="off"
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- What scrolls must be reached by keyboard.
        tabIndex={0}
        onScroll={({ currentTarget }) =>
          setAtEnd(currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight < NEAR_END)
        }
      >
        {blocks.map((block, index) => (
          <Block key={`${wanted}-${first}-${index}`} lines={block} count={block.length} last={block.at(-1)} />
        ))}
      </div>
      <div className="log-foot small text-2">
        {status === 'ended' ? (
          t('work.log.ended')
        ) : atEnd || wanted ? (
          <span className="live">
            <span className="dot" />
            {t('work.log.following')}
          </span>
        ) : (
          <Button size="small" onClick={() => setAtEnd(true)}>
            {t('work.log.paused')}
          </Button>
        )}
      </div>
    </>
  );
}

/** Drawn again only when its last line or its length changed; lines once written stay as they are. */
const Block = memo(
  function Block({ lines }: { lines: Line[]; count: number; last: Line | undefined }) {
    return (
      <div className="log-block">
        {lines.map((line) => (
          <OneLine key={line.id} line={line} />
        ))}
      </div>
    );
  },
  (before, after) =>
    before.count === after.count && before.last?.id === after.last?.id && before.lines[0]?.id === after.lines[0]?.id,
);

function OneLine({ line }: { line: Line }) {
  const { t } = useTranslation();
  const size = useBytes();
  if (line.kind === 'gap') return <div className="log-gap">{t('work.log.gap', { size: size(line.bytes) })}</div>;
  if (line.kind === 'earlier') return <div className="log-gap">{t('work.log.earlier')}</div>;
  return (
    <div className="log-line">
      {line.spans.map((span, index) => (
        <span key={index} className={span.look || undefined}>
          {span.text}
        </span>
      ))}
    </div>
  );
}

function useBytes(): (bytes: number) => string {
  const { number } = useFormat();
  const size = useSize();
  return (bytes) =>
    bytes >= 1024 ** 2 ? size(Math.round(bytes / 1024 ** 2)) : `${number(Math.ceil(bytes / 1024))}\u00a0KiB`;
}
