import { Input } from 'antd';
import { useEffect, useState } from 'react';
import { useUrlState } from '../shell/url-state';
import { SearchIcon } from './icons';

const SETTLE_MS = 250;
const MOST = 100;

/** The search of a list. It lives in the address once nobody types any more. */
export function SearchField({ label }: { label: string }) {
  const [url, change] = useUrlState();
  const inUrl = url.search ?? '';
  const [text, setText] = useState(inUrl);
  const [lastUrl, setLastUrl] = useState(inUrl);
  if (lastUrl !== inUrl) {
    // Changed from elsewhere, such as a button that drops the filter.
    setLastUrl(inUrl);
    if (inUrl !== text.trim()) setText(inUrl);
  }
  useEffect(() => {
    if (text.trim() === inUrl) return undefined;
    const timer = setTimeout(() => change({ search: text.trim() || undefined }), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, inUrl, change]);
  return (
    <Input
      className="find"
      allowClear
      prefix={<SearchIcon />}
      aria-label={label}
      placeholder={label}
      value={text}
      maxLength={MOST}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
