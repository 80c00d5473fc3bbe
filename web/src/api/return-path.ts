/**
 * Where to go after login. Only a path of this console is accepted: a full address, a
 * protocol-relative one (//host, /\host) or one that leads back to login goes home instead.
 */
export function safeReturnPath(wanted: unknown, origin: string = location.origin): string {
  // Browsers drop tabs and line breaks inside an address, so "/\t/host" would become "//host".
  // eslint-disable-next-line no-control-regex
  if (typeof wanted !== 'string' || !wanted.startsWith('/') || /[\u0000-\u001f\u007f\\]/.test(wanted)) return '/';
  let url: URL;
  try {
    url = new URL(wanted, origin);
  } catch (error) {
    if (error instanceof TypeError) return '/';
    throw error;
  }
  if (
    url.origin !== origin ||
    url.pathname.startsWith('//') ||
    /^\/(login|join|sign-up|password)(\/|$)/.test(url.pathname)
  )
    return '/';
  return url.pathname + url.search + url.hash;
}
