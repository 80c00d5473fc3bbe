import type { ReactNode, SVGProps } from 'react';

/** 16 px, 1.4 px stroke, in the colour of the text. Decorative: the word beside them carries the meaning. */
function Icon({ children, size = 16, ...rest }: SVGProps<SVGSVGElement> & { size?: number; children: ReactNode }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      {...rest}
    >
      {children}
    </svg>
  );
}

type Props = SVGProps<SVGSVGElement> & { size?: number };

export const Mark = ({ size = 20, ...rest }: Props) => (
  <svg width={size} height={size} viewBox="0 0 16 16" fill="none" aria-hidden="true" focusable="false" {...rest}>
    <path
      d="M14 5.5v-.75A2.75 2.75 0 0 0 11.25 2h-6.5A2.75 2.75 0 0 0 2 4.75v6.5A2.75 2.75 0 0 0 4.75 14h6.5A2.75 2.75 0 0 0 14 11.25v-.75"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="square"
    />
    <rect x="6" y="6" width="4" height="4" rx=".6" fill="currentColor" />
  </svg>
);
export const SearchIcon = (props: Props) => (
  <Icon {...props}>
    <circle cx="7" cy="7" r="4.2" />
    <path d="m10.2 10.2 3.3 3.3" />
  </Icon>
);
export const MenuIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M2 4.5h12M2 8h12M2 11.5h12" />
  </Icon>
);
export const CloseIcon = (props: Props) => (
  <Icon {...props}>
    <path d="m4 4 8 8M12 4l-8 8" />
  </Icon>
);
export const ChevronDown = (props: Props) => (
  <Icon {...props}>
    <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />
  </Icon>
);
export const ChevronRight = (props: Props) => (
  <Icon {...props}>
    <path d="M6.5 4.5 10 8l-3.5 3.5" />
  </Icon>
);
export const PlusIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);
export const TrainingIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M2.5 2.5v11h11M5 10.5c1.5-5 4.5-6.5 8-6.5" />
  </Icon>
);
export const BuildIcon = (props: Props) => (
  <Icon {...props}>
    <path d="m8 2 5.5 3v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6" />
  </Icon>
);
/** A kind that the console does not know. */
export const OtherKindIcon = (props: Props) => (
  <Icon {...props}>
    <rect x="3" y="3" width="10" height="10" rx="2" />
  </Icon>
);
export const CopyIcon = (props: Props) => (
  <Icon {...props}>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5" />
  </Icon>
);
export const CheckIcon = (props: Props) => (
  <Icon {...props}>
    <path d="m3 8.5 3.3 3.3L13 5" />
  </Icon>
);
export const WarningIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M8 2.5 14.3 13.3H1.7zM8 6.5v3.2M8 11.5v.1" />
  </Icon>
);
export const GlobeIcon = (props: Props) => (
  <Icon {...props}>
    <circle cx="8" cy="8" r="5.6" />
    <path d="M2.4 8h11.2M8 2.4c-4.3 3.6-4.3 7.6 0 11.2 4.3-3.6 4.3-7.6 0-11.2" />
  </Icon>
);
export const SunIcon = (props: Props) => (
  <Icon {...props}>
    <circle cx="8" cy="8" r="2.6" />
    <path d="M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1" />
  </Icon>
);
export const CodeIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5" />
  </Icon>
);
export const MoreIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />
  </Icon>
);
export const SelectIcon = (props: Props) => (
  <Icon {...props}>
    <path d="m5 6.2 3-3 3 3M5 9.8l3 3 3-3" />
  </Icon>
);
export const SignOutIcon = (props: Props) => (
  <Icon {...props}>
    <path d="M6.5 2.5H4A1.5 1.5 0 0 0 2.5 4v8A1.5 1.5 0 0 0 4 13.5h2.5M10 5l3 3-3 3M13 8H6" />
  </Icon>
);
export const PersonIcon = (props: Props) => (
  <Icon {...props}>
    <circle cx="8" cy="5.5" r="2.8" />
    <path d="M2.8 13.5c.7-2.7 2.7-4 5.2-4s4.5 1.3 5.2 4" />
  </Icon>
);
export const TreeIcon = (props: Props) => (
  <Icon {...props}>
    <rect x="2" y="2.5" width="5" height="3.5" rx="1" />
    <rect x="9" y="6.5" width="5" height="3.5" rx="1" />
    <path d="M4.5 6v5.5A1.5 1.5 0 0 0 6 13h3M4.5 8.3H9" />
  </Icon>
);
export const PageIcon = (props: Props) => (
  <Icon {...props}>
    <rect x="2.5" y="2.5" width="11" height="11" rx="1.8" />
    <path d="M2.5 6h11" />
  </Icon>
);

const glyphs = {
  draft: <circle cx="8" cy="8" r="5.5" strokeDasharray="2.6 2.1" />,
  asks: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M6.5 6.6c.1-2 3-2 3-.1 0 1.2-1.5 1.2-1.5 2.3M8 10.9v.1" />
    </>
  ),
  waits: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3l2 1.3" />
    </>
  ),
  disc: <circle cx="8" cy="8" r="4.6" fill="currentColor" stroke="none" />,
  starts: (
    <g className="turns">
      <circle cx="8" cy="8" r="5.5" opacity="0.3" />
      <path d="M8 2.5A5.5 5.5 0 0 1 13.5 8" />
    </g>
  ),
  pauses: (
    <>
      <circle cx="8" cy="8" r="5.5" strokeDasharray="2.6 2.1" />
      <path d="M6.6 6v4M9.4 6v4" />
    </>
  ),
  stops: <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" strokeDasharray="2.4 1.8" />,
  pause: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M6.6 6v4M9.4 6v4" />
    </>
  ),
  square: <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" />,
  tick: <path d="m3 8.5 3.3 3.3L13 5" strokeWidth="1.7" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" strokeWidth="1.7" />,
  dash: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M5.5 8h5" />
    </>
  ),
} as const;

export type GlyphName = keyof typeof glyphs;

/** The sign of a state, always beside its word. */
export const Glyph = ({ name, size = 14 }: { name: GlyphName; size?: number }) => (
  <Icon size={size}>{glyphs[name]}</Icon>
);
