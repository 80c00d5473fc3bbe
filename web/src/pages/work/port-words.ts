import type { components } from '../../api/schema';

type Spec = components['schemas']['TrainingSpec'];
type AnyPort = NonNullable<Spec['ports']>[number];

/** A port as people write it. */
export const portText = (port: AnyPort): string =>
  typeof port === 'object' ? `${port.name}=${port.number}${port.protocol === 'http' ? '/http' : ''}` : String(port);

/** How Corral finds out that a replica is ready, as people write it. */
export function readinessText(readiness: Spec['readiness']): string | undefined {
  if (readiness === null || readiness === undefined) return undefined;
  if (typeof readiness !== 'object') return String(readiness);
  return readiness.output ? `output:${readiness.output}` : `${readiness.port}${readiness.path ?? ''}`;
}
