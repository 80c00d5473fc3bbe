import { Link } from '@tanstack/react-router';
import { useUrlState } from '../shell/url-state';

/** The views of one page as links; which one is open lives in the address. */
export function TabBar({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly {
    key: string;
    title: string;
    count?: number;
    /** What else stays in the address. */ keep?: Record<string, string | undefined>;
  }[];
}) {
  const [{ tab }] = useUrlState();
  // The first is open, too, where the address names it or one that is not there.
  const current = tabs.find(({ key }) => key === tab) ?? tabs[0];
  return (
    <nav className="tab-bar" aria-label={label}>
      {tabs.map(({ key, title, count, keep }, index) => (
        <Link
          key={key}
          to="."
          search={{ tab: index === 0 ? undefined : key, ...keep }}
          replace
          aria-current={key === current?.key ? 'page' : undefined}
          activeOptions={{ includeSearch: true, explicitUndefined: true }}
        >
          {title}
          {count !== undefined && <span className="count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
