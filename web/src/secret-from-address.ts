// A login link or an invitation carries its secret in the fragment. It is taken out of the address
// bar and the history before anything else runs, so that nothing keeps or shows it.
type Kind = 'once' | 'invitation';

const pattern = /^#(once|invitation)=(.+)$/;

let held: { kind: Kind; secret: string } | null = null;

export function holdSecretFromAddress(): void {
  const match = pattern.exec(location.hash);
  if (!match) return;
  held = { kind: match[1] as Kind, secret: decodeURIComponent(match[2] ?? '') };
  history.replaceState(null, '', location.pathname + location.search);
}

/** A link pasted into an open tab changes only the fragment: start afresh so that it is taken like the first. */
export function watchAddressForSecret(): void {
  addEventListener('hashchange', () => {
    if (pattern.test(location.hash)) location.reload();
  });
}

export function heldSecret(kind: Kind): string | null {
  return held?.kind === kind ? held.secret : null;
}

export function forgetSecret(): void {
  held = null;
}
