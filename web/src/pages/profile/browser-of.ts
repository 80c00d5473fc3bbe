const browsers: [RegExp, string][] = [
  [/Edg\/(\d+)/, 'Edge'],
  [/OPR\/(\d+)/, 'Opera'],
  [/Firefox\/(\d+)/, 'Firefox'],
  [/Chrome\/(\d+)/, 'Chrome'],
  [/Version\/(\d+).*Safari/, 'Safari'],
  [/corral[^/]*\/([\d.]+)/i, 'corral'],
  [/curl\/([\d.]+)/, 'curl'],
];
const systems: [RegExp, string][] = [
  [/Windows/, 'Windows'],
  [/iPhone|iPad/, 'iOS'],
  [/Mac OS X/, 'macOS'],
  [/Android/, 'Android'],
  [/Linux/, 'Linux'],
];

/** "Firefox 140, Linux" from a user agent; null where it says nothing we know. */
export function browserOf(agent: string | null | undefined): string | null {
  if (!agent) return null;
  const browser = browsers
    .map(([pattern, name]) => [pattern.exec(agent)?.[1], name] as const)
    .find(([version]) => version);
  if (!browser) return null;
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1];
  return [`${browser[1]} ${browser[0]}`, system].filter(Boolean).join(', ');
}
