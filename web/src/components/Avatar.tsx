/** Initials of a person; decorative, the name stands beside it. */
export function Avatar({ name, large }: { name: string; large?: boolean }) {
  return (
    <span className={large ? 'avatar large' : 'avatar'} aria-hidden="true">
      {initials(name)}
    </span>
  );
}

export function initials(name: string): string {
  const words = name
    .trim()
    .split(/[\s._-]+/)
    .filter(Boolean);
  const first = words[0] ?? '';
  if (/\p{Script=Han}/u.test(first)) return [...first].slice(-1).join('');
  const last = words.length > 1 ? (words[words.length - 1] ?? '') : '';
  return ([...first].slice(0, last ? 1 : 2).join('') + [...last].slice(0, 1).join('')).toUpperCase();
}
