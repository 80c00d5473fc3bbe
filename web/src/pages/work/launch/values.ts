import type { components } from '../../../api/schema';
import { shellQuoted, shellWords } from './shell-words';
import type { Entry } from './tar';

export interface Pair {
  name?: string;
  value?: string;
}

/** What stands in the form. Names that the server knows too are spelled as there, so that its refusals find their fields. */
export interface Values {
  name?: string;
  organisation_id?: string;
  by: 'flavor' | 'numbers';
  flavor?: string;
  gpu: 'none' | 'whole' | 'slice';
  resources?: { cpu_milli?: string; memory_mib?: string; gpu?: { count?: number; memory_mib?: string } };
  replicas?: number | null;
  command?: string;
  variables?: Pair[];
  given?: Pair[];
  time_limit_seconds?: string;
  retries?: number | null;
  preemptible: boolean;
  /** Files of this computer; sent before the work is. */
  files?: Entry[];
  upload_id?: string;
}

export type Document = components['schemas']['TrainingSpec'];

export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;

export const usual: Values = { by: 'flavor', gpu: 'slice', resources: { cpu_milli: '1', memory_mib: '2Gi', gpu: { count: 1, memory_mib: '8Gi' } }, replicas: 1, retries: 0, preemptible: true };

const pairs = (list: Pair[] | undefined): Record<string, string> => Object.fromEntries((list ?? []).filter((one) => one?.name?.trim()).map((one) => [one.name?.trim() ?? '', one.value ?? '']));

/** A parameter is what it looks like: 0.1 is a number, true a truth, the rest text. */
function typed(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?$/.test(text) ? Number(text) : text;
}

function resourcesOf({ gpu, resources = {} }: Values) {
  const count = resources.gpu?.count ?? 1;
  return {
    cpu_milli: resources.cpu_milli?.trim() || '1',
    memory_mib: resources.memory_mib?.trim() || '2Gi',
    ...(gpu === 'none' ? {} : { gpu: { count, ...(gpu === 'slice' ? { memory_mib: resources.gpu?.memory_mib?.trim() || '8Gi' } : {}) } }),
  };
}

/** The document that the form stands for; what was left as it usually is, is left out. */
export function documentOf(values: Values): Document {
  const parameters = Object.fromEntries(Object.entries(pairs(values.given)).map(([name, value]) => [name, typed(value)]));
  const environment = pairs(values.variables);
  const document = {
    kind: 'training' as const,
    name: values.name?.trim() ?? '',
    ...(values.organisation_id ? { organisation_id: values.organisation_id } : {}),
    ...(values.by === 'flavor' ? { flavor: values.flavor } : { resources: resourcesOf(values) }),
    command: shellWords(values.command ?? '') ?? [],
    ...((values.replicas ?? 1) === 1 ? {} : { replicas: values.replicas ?? 1 }),
    ...(Object.keys(parameters).length > 0 ? { parameters } : {}),
    ...(Object.keys(environment).length > 0 ? { environment } : {}),
    ...(values.time_limit_seconds?.trim() ? { time_limit_seconds: values.time_limit_seconds.trim() } : {}),
    ...(values.upload_id ? { upload_id: values.upload_id } : {}),
    ...(values.retries ? { retries: values.retries } : {}),
    ...(values.preemptible ? {} : { preemptible: false }),
  };
  // The server fills in what it has a usual value for; its type says only what it answers.
  return document;
}

/** The command that does the same; what it has no option for goes as a document. */
export function commandOf(values: Values, organisationName: string | undefined): string {
  if (!values.preemptible) return 'corral apply -f work.yaml';
  const { cpu_milli, memory_mib, gpu } = resourcesOf(values);
  const numbers = [gpu && `--gpu ${'memory_mib' in gpu ? `${gpu.count > 1 ? `${gpu.count}x` : ''}${gpu.memory_mib}` : gpu.count}`, `--cpu ${cpu_milli}`, `--memory ${memory_mib}`];
  const words = shellWords(values.command ?? '') ?? [];
  const options = [
    values.name?.trim() && `--name ${shellQuoted(values.name.trim())}`,
    ...(values.by === 'flavor' ? [values.flavor && `--flavor ${shellQuoted(values.flavor)}`] : numbers),
    organisationName && `--org ${shellQuoted(organisationName)}`,
    (values.replicas ?? 1) > 1 && `--replicas ${values.replicas}`,
    ...Object.entries(pairs(values.variables)).map(([name, value]) => `--env ${shellQuoted(`${name}=${value}`)}`),
    ...Object.entries(pairs(values.given)).map(([name, value]) => `--param ${shellQuoted(`${name}=${value}`)}`),
    values.time_limit_seconds?.trim() && `--time-limit ${shellQuoted(values.time_limit_seconds.trim())}`,
    values.retries && `--retries ${values.retries}`,
    !values.files && !values.upload_id && '--no-upload',
  ].filter(Boolean);
  return ['corral run', ...options.map((option) => `  ${option}`), `  -- ${words.map(shellQuoted).join(' ')}`].join(' \\\n');
}

/** The form as it would be for work that is there already. */
export function valuesLike(spec: Record<string, unknown>): Values {
  const document = spec as unknown as Document;
  const gpu = document.resources?.gpu;
  const listed = (map: Record<string, unknown> | undefined): Pair[] => Object.entries(map ?? {}).map(([name, value]) => ({ name, value: String(value) }));
  return {
    name: document.name,
    organisation_id: document.organisation_id ?? undefined,
    by: document.flavor ? 'flavor' : 'numbers',
    flavor: document.flavor ?? undefined,
    gpu: !gpu ? 'none' : gpu.memory_mib ? 'slice' : 'whole',
    resources: {
      cpu_milli: document.resources ? String(Number(document.resources.cpu_milli) / 1000) : '1',
      memory_mib: document.resources ? `${document.resources.memory_mib}Mi` : '2Gi',
      gpu: { count: gpu?.count ?? 1, memory_mib: gpu?.memory_mib ? `${gpu.memory_mib}Mi` : '8Gi' },
    },
    replicas: document.replicas ?? 1,
    command: document.command.map(shellQuoted).join(' '),
    variables: listed(document.environment),
    given: listed(document.parameters),
    time_limit_seconds: document.time_limit_seconds ? `${document.time_limit_seconds}s` : undefined,
    upload_id: document.upload_id ?? undefined,
    retries: document.retries ?? 0,
    preemptible: document.preemptible ?? true,
  };
}
