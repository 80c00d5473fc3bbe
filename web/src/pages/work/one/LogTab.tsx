import { Button, Input, Select } from 'antd';
import { memo, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { WorkloadDetail } from '../../../api/models';
import { SearchIcon } from '../../../components/icons';
import { useFormat } from '../../../i18n/format';
import { useUrlState } from '../../../shell/url-state';
import { isOver } from '../states';
import { useSize } from '../words';
import type { Line } from './log-lines';
import { useLog, type Log } from './useLog';

const BLOCK = 200;
const NEAR_END = 12;

/** What a replica writes, as it writes it. */
export function LogTab({ work }: { work: WorkloadDetail }) {
  const [url] = useUrlState();
  const attempt = Number(url.attempt) || work.attempt || undefined;
  const replica = Number(url.replica) || 0;
  return <LogView key={`${attempt}-${replica}`} work={work} attempt={attempt} replica={replica} />;
}

function LogView({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  const { number } = useFormat();
  const log = useLog(work.id, attempt, replica);
  const [search, setSearch] = useState('');
  const { lines } = log.state;
  const wanted = search.trim().toLowerCase();
  const found = useMemo(() => (wanted ? lines.filter((line) => line.kind === 'text' && line.text.toLowerCase().includes(wanted)) : lines), [lines, wanted]);
  return (
    <div className="log">
      <div className="log-bar">
        <Choosers work={work} attempt={attempt} replica={replica} />
        <Input className="find" allowClear prefix={<SearchIcon />} aria-label={t('work.log.search', { number: number(lines.length) })} placeholder={t('work.log.search', { number: number(lines.length) })} value={search} onChange={(event) => setSearch(event.target.value)} />
        {wanted && <span className="small text-2" role="status">{t('work.log.found', { count: found.length })}</span>}
        <span style={{ flex: 1 }} />
        <Download work={work} attempt={attempt} replica={replica} />
      </div>
      {log.status === 'lost' && <p className="small danger" role="alert">{t('work.log.lost')}</p>}
      {lines.length === 0 ? <Silence work={work} log={log} /> : <Lines lines={found} status={log.status} wanted={wanted} />}
    </div>
  );
}

function Choosers({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  const [, change] = useUrlState();
  return (
    <>
      {work.attempts.length > 1 && (
        <Select
          aria-label={t('work.log.attempt')}
          value={attempt}
          popupMatchSelectWidth={false}
          onChange={(value: number) => change({ attempt: value === work.attempt ? undefined : String(value) })}
          options={work.attempts.toReversed().map(({ number }) => ({ value: number, label: t('work.attemptNumber', { number }) }))}
        />
      )}
      {work.replicas > 1 && (
        <Select
          aria-label={t('work.log.replica')}
          value={replica}
          popupMatchSelectWidth={false}
          onChange={(value: number) => change({ replica: value === 0 ? undefined : String(value) })}
          options={Array.from({ length: work.replicas }, (_, number) => ({ value: number, label: t('work.log.replicaNumber', { number }) }))}
        />
      )}
    </>
  );
}

function Download({ work, attempt, replica }: { work: WorkloadDetail; attempt: number | undefined; replica: number }) {
  const { t } = useTranslation();
  if (attempt === undefined) return null;
  const query = new URLSearchParams({ attempt: String(attempt), replica: String(replica) });
  return <Button href={`/api/v1/workloads/${work.id}/logs/download?${query.toString()}`} download>{t('work.log.download')}</Button>;
}

/** Why there is nothing to see. */
function Silence({ work, log }: { work: WorkloadDetail; log: Log }) {
  const { t } = useTranslation();
  if (log.status === 'reading') return null;
  return <p className="teach text-2">{log.status === 'ended' || isOver(work.state) ? t('work.log.nothing') : work.attempt === 0 ? t('work.log.beforeStart') : t('work.log.none')}</p>;
}

/** Follows the end unless one has scrolled up; blocks out of sight are not drawn. */
function Lines({ lines, status, wanted }: { lines: Line[]; status: Log['status']; wanted: string }) {
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
        onScroll={({ currentTarget }) => setAtEnd(currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight < NEAR_END)}
      >
        {blocks.map((block, index) => (
          <Block key={`${wanted}-${first}-${index}`} lines={block} count={block.length} last={block.at(-1)} />
        ))}
      </div>
      <div className="log-foot small text-2">
        {status === 'ended' ? (
          t('work.log.ended')
        ) : atEnd || wanted ? (
          <span className="live"><span className="dot" />{t('work.log.following')}</span>
        ) : (
          <Button size="small" onClick={() => setAtEnd(true)}>{t('work.log.paused')}</Button>
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
  (before, after) => before.count === after.count && before.last?.id === after.last?.id && before.lines[0]?.id === after.lines[0]?.id,
);

function OneLine({ line }: { line: Line }) {
  const { t } = useTranslation();
  const size = useBytes();
  if (line.kind === 'gap') return <div className="log-gap">{t('work.log.gap', { size: size(line.bytes) })}</div>;
  if (line.kind === 'earlier') return <div className="log-gap">{t('work.log.earlier')}</div>;
  return (
    <div className="log-line">
      {line.spans.map((span, index) => (
        <span key={index} className={span.look || undefined}>{span.text}</span>
      ))}
    </div>
  );
}

function useBytes(): (bytes: number) => string {
  const { number } = useFormat();
  const size = useSize();
  return (bytes) => (bytes >= 1024 ** 2 ? size(Math.round(bytes / 1024 ** 2)) : `${number(Math.ceil(bytes / 1024))}\u00a0KiB`);
}
