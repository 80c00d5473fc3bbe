import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLiveStatus } from '../api/live';
import { WarningIcon } from '../components/icons';
import { useFormat } from '../i18n/format';

/** "Live, 14:32:08": when the event stream was last heard. */
export function LiveSign() {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const status = useLiveStatus();
  if (status.state === 'live') {
    return (
      <span className="live only-desk">
        <span className="dot" />
        {t('live.live', { time: clock(new Date(status.heardAt), true) })}
      </span>
    );
  }
  const lost = status.state === 'lost';
  return (
    <span className={`live only-desk ${lost ? 'lost' : 'waits'}`}>
      <span className="dot" />
      {lost ? t('live.lostSince', { time: clock(new Date(status.lostAt), true) }) : t('live.connecting')}
    </span>
  );
}

/** Above the page while the stream is gone: what one sees may be old, and when the next try comes. */
export function LostBanner() {
  const status = useLiveStatus();
  return status.state === 'lost' ? <LostSince lostAt={status.lostAt} retryAt={status.retryAt} /> : null;
}

function LostSince({ lostAt, retryAt }: { lostAt: number; retryAt: number }) {
  const { t } = useTranslation();
  const { clock } = useFormat();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((retryAt - now) / 1000));
  return (
    <div className="banner">
      <WarningIcon />
      <span role="status">{t('live.lost', { time: clock(new Date(lostAt), true) })}</span>
      <span className="later">{t('live.retry', { seconds })}</span>
    </div>
  );
}
