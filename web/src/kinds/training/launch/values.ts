import type { components } from '../../../api/schema';
import type { Pool, Zone } from '../../../api/models';
import { portText, readinessText } from '../../../pages/work/port-words';
import { shellQuoted, shellWords } from '../../../pages/work/shell-words';
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
  resources?: {
    cpu?: string;
    memory?: string;
    gpu?: { count?: number; memory_mib?: string; compute_percent?: number | null; models?: string[] };
  };
  replicas?: number | null;
  command?: string;
  variables?: Pair[];
  given?: Pair[];
  time_limit_seconds?: string;
  retries?: number | null;
  hold_seconds?: number | null;
  grace_seconds?: number | null;
  preemptible: boolean;
  priority?: number | null;
  pools?: string[];
  /** As people write them: `web=8000/http`, `8000/healthz`, `output:Listening`. */
  ports?: string[];
  readiness?: string;
  /** Its name; ANY leaves it to Corral, ANY_SIMULATED among the simulated ones. */
  zone: string;
  /** Whether that is a simulated one; then only `simulation` counts. */
  simulated: boolean;
  simulation?: { duration?: string; exit_code?: number | null; usage?: Usage };
  launch: 'plain' | 'torchrun';
  runtime?: string;
  home: boolean;
  network: boolean;
  /** Variables with the value of a secret: name is the variable, value the secret. */
  hidden?: Pair[];
  /** Files of this computer; sent before the work is. */
  files?: Entry[];
  upload_id?: string;
}

type Usage = NonNullable<NonNullable<components['schemas']['TrainingSpec']['simulation']>['usage']>;

export type Document = components['schemas']['TrainingSpec'];

export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;

export const ANY = '';
/** No zone can be called so. */
export const ANY_SIMULATED = ' ';

/** Whether work that is given this zone is simulated. */
export const isSimulated = (zone: string, zones: readonly Pick<Zone, 'name' | 'simulated'>[]): boolean =>
  zone === ANY_SIMULATED || zones.some((one) => one.name === zone && one.simulated);

/** The pools that may be asked for: those of the zone, or of every zone that Corral chooses from. */
export function poolNames(
  pools: readonly Pick<Pool, 'name' | 'zone_id'>[],
  zones: readonly Pick<Zone, 'id' | 'name' | 'simulated'>[],
  { zone, simulated }: Pick<Values, 'zone' | 'simulated'>,
): string[] {
  const named = zones.find((one) => one.name === zone);
  const open = new Set((named ? [named] : zones.filter((one) => one.simulated === simulated)).map((one) => one.id));
  return [...new Set(pools.filter((one) => open.has(one.zone_id)).map((one) => one.name))];
}

export const GRACE_SECONDS = 30;
export const usual: Values = {
  by: 'flavor',
  gpu: 'slice',
  resources: { cpu: '1', memory: '2Gi', gpu: { count: 1, memory_mib: '8Gi' } },
  replicas: 1,
  retries: 0,
  grace_seconds: GRACE_SECONDS,
  preemptible: true,
  zone: ANY,
  simulated: false,
  simulation: { duration: '60s', exit_code: 0 },
  launch: 'plain',
  home: false,
  network: true,
};

export const pairs = (list: Pair[] | undefined): Record<string, string> =>
  Object.fromEntries(
    (list ?? []).filter((one) => one?.name?.trim()).map((one) => [one.name?.trim() ?? '', one.value ?? '']),
  );

const sliceText = (values: Values): string => values.resources?.gpu?.memory_mib?.trim() || '8Gi';

/** GPUs as `--gpu` takes them. Sizes are sent as they were typed: the API alone reads them. */
function gpuAmount(values: Values): string {
  const count = values.resources?.gpu?.count ?? 1;
  if (values.gpu !== 'slice') return String(count);
  return `${count > 1 ? `${count}x` : ''}${sliceText(values)}`;
}

function resourcesOf(values: Values) {
  const { gpu, resources = {} } = values;
  const { compute_percent, models } = resources.gpu ?? {};
  const amount = gpuAmount(values);
  const more = {
    ...(gpu === 'slice' && compute_percent ? { compute_percent } : {}),
    ...(models && models.length > 0 ? { models } : {}),
  };
  const devices = Object.keys(more).length > 0 ? { amount, ...more } : amount;
  return {
    cpu: resources.cpu?.trim() || '1',
    memory: resources.memory?.trim() || '2Gi',
    ...(gpu === 'none' ? {} : { gpu: devices }),
  };
}

function simulationOf({ duration, exit_code, usage }: NonNullable<Values['simulation']>) {
  const said = Object.entries(usage ?? {}).filter(
    ([name, value]) => value !== null && !(name === 'gpu_percent' && value === 100),
  );
  return {
    duration: duration?.trim() ?? '',
    ...(exit_code ? { exit_code } : {}),
    ...(said.length > 0 ? { usage: Object.fromEntries(said) as Usage } : {}),
  };
}

/** Nothing runs in a simulated zone, so work there may have no command; a document needs one. */
const wordsOf = (values: Values): string[] => {
  const words = shellWords(values.command ?? '') ?? [];
  return values.simulated && words.length === 0 ? ['true'] : words;
};

/** The document that the form stands for; what was left as it usually is, is left out. */
export function documentOf(values: Values): Document {
  const parameters = pairs(values.given);
  const environment = pairs(values.variables);
  const secrets = Object.fromEntries(Object.entries(pairs(values.hidden)).filter(([, secret]) => secret));
  const document = {
    kind: 'training' as const,
    name: values.name?.trim() ?? '',
    ...(values.organisation_id ? { organisation_id: values.organisation_id } : {}),
    ...(values.by === 'flavor' ? { flavor: values.flavor } : { resources: resourcesOf(values) }),
    command: wordsOf(values),
    ...(values.zone.trim() ? { zone: values.zone } : {}),
    ...(values.simulated ? { simulation: simulationOf(values.simulation ?? {}) } : {}),
    ...((values.replicas ?? 1) === 1 ? {} : { replicas: values.replicas ?? 1 }),
    ...(Object.keys(parameters).length > 0 ? { parameters } : {}),
    ...(Object.keys(environment).length > 0 ? { environment } : {}),
    ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
    ...(values.runtime ? { runtime: values.runtime } : {}),
    ...(values.home ? { home: true } : {}),
    ...(values.network ? {} : { network: false }),
    ...(values.launch === 'torchrun' ? { launch: 'torchrun' as const } : {}),
    ...(values.pools && values.pools.length > 0 ? { pools: values.pools } : {}),
    ...(values.priority ? { priority: values.priority } : {}),
    ...((values.grace_seconds ?? GRACE_SECONDS) === GRACE_SECONDS
      ? {}
      : { grace_seconds: values.grace_seconds ?? GRACE_SECONDS }),
    ...(values.time_limit_seconds?.trim() ? { time_limit_seconds: values.time_limit_seconds.trim() } : {}),
    ...(values.upload_id && !values.simulated ? { upload_id: values.upload_id } : {}),
    ...(values.retries ? { retries: values.retries } : {}),
    ...(values.hold_seconds ? { hold_seconds: values.hold_seconds } : {}),
    ...(values.ports && values.ports.length > 0 ? { ports: values.ports } : {}),
    ...(values.readiness?.trim() ? { readiness: values.readiness.trim() } : {}),
    ...(values.preemptible ? {} : { preemptible: false }),
  };
  // The server fills in what it has a usual value for; its type says only what it answers.
  return document;
}

/** The command that does the same; what it has no option for goes as a document. */
export function commandOf(values: Values, organisationName: string | undefined): string {
  const document = documentOf(values);
  const { cpu, memory, gpu } = resourcesOf(values);
  const { compute_percent, models = [] } = values.resources?.gpu ?? {};
  const beyond =
    document.preemptible === false ||
    document.pools !== undefined ||
    document.grace_seconds !== undefined ||
    (document.simulation && Object.keys(document.simulation).length > 1) ||
    (values.by === 'numbers' && values.gpu === 'slice' && Boolean(compute_percent));
  if (beyond) return 'corral apply -f work.yaml';
  const numbers = [
    gpu && `--gpu ${shellQuoted(gpuAmount(values))}`,
    ...(gpu ? models : []).map((model) => `--gpu-model ${shellQuoted(model)}`),
    `--cpu ${shellQuoted(cpu)}`,
    `--memory ${shellQuoted(memory)}`,
  ];
  const words = wordsOf(values);
  const options = [
    values.name?.trim() && `--name ${shellQuoted(values.name.trim())}`,
    ...(values.by === 'flavor' ? [values.flavor && `--flavor ${shellQuoted(values.flavor)}`] : numbers),
    organisationName && `--org ${shellQuoted(organisationName)}`,
    document.zone && `--zone ${shellQuoted(document.zone)}`,
    document.simulation && `--simulate ${shellQuoted(String(document.simulation.duration))}`,
    (values.replicas ?? 1) > 1 && `--replicas ${values.replicas}`,
    ...Object.entries(pairs(values.variables)).map(([name, value]) => `--env ${shellQuoted(`${name}=${value}`)}`),
    ...Object.entries(pairs(values.given)).map(([name, value]) => `--param ${shellQuoted(`${name}=${value}`)}`),
    ...Object.entries(document.secrets ?? {}).map(
      ([variable, secret]) => `--secret ${shellQuoted(`${variable}=${secret}`)}`,
    ),
    values.runtime && `--runtime ${shellQuoted(values.runtime)}`,
    values.launch === 'torchrun' && '--launch torchrun',
    values.home && '--home',
    !values.network && '--no-network',
    values.priority && `--priority ${values.priority}`,
    values.time_limit_seconds?.trim() && `--time-limit ${shellQuoted(values.time_limit_seconds.trim())}`,
    ...(values.ports ?? []).map((port) => `--port ${shellQuoted(port)}`),
    values.readiness?.trim() && `--ready ${shellQuoted(values.readiness.trim())}`,
    values.retries && `--retries ${values.retries}`,
    values.hold_seconds && `--hold ${values.hold_seconds}s`,
    !values.simulated && !values.files && !values.upload_id && '--no-upload',
  ].filter(Boolean);
  return [
    'corral run',
    ...options.map((option) => `  ${option}`),
    `  -- ${words.map(shellQuoted).join(' ') || '…'}`,
  ].join(' \\\n');
}

/** The form as it would be for work that is there already. */
export function valuesLike(spec: Record<string, unknown>): Values {
  const document = spec as unknown as Document;
  // What is stored says it all: no short forms.
  const gpu = document.resources?.gpu as Exclude<NonNullable<Document['resources']>['gpu'], string | number>;
  const listed = (map: Record<string, unknown> | undefined): Pair[] =>
    Object.entries(map ?? {}).map(([name, value]) => ({ name, value: String(value) }));
  return {
    name: document.name,
    organisation_id: document.organisation_id ?? undefined,
    by: document.flavor ? 'flavor' : 'numbers',
    flavor: document.flavor ?? undefined,
    gpu: !gpu ? 'none' : gpu.memory_mib || gpu.fraction_milli || gpu.profile ? 'slice' : 'whole',
    resources: {
      cpu: document.resources ? String(Number(document.resources.cpu_milli) / 1000) : '1',
      memory: document.resources ? `${document.resources.memory_mib}Mi` : '2Gi',
      gpu: {
        count: gpu?.count ?? 1,
        memory_mib: gpu?.memory_mib
          ? `${gpu.memory_mib}Mi`
          : gpu?.fraction_milli
            ? String(gpu.fraction_milli / 1000)
            : (gpu?.profile ?? '8Gi'),
        compute_percent: gpu?.compute_percent || undefined,
        models: gpu?.models ?? [],
      },
    },
    replicas: document.replicas ?? 1,
    command: document.command.map(shellQuoted).join(' '),
    variables: listed(document.environment),
    given: listed(document.parameters),
    time_limit_seconds: document.time_limit_seconds ? `${document.time_limit_seconds}s` : undefined,
    upload_id: document.upload_id ?? undefined,
    retries: document.retries ?? 0,
    hold_seconds: Number(document.hold_seconds ?? 0) || undefined,
    preemptible: document.preemptible ?? true,
    grace_seconds: document.grace_seconds ?? GRACE_SECONDS,
    priority: document.priority ?? undefined,
    pools: document.pools ?? [],
    zone: document.zone ?? (document.simulation ? ANY_SIMULATED : ANY),
    simulated: Boolean(document.simulation),
    simulation: document.simulation
      ? { ...document.simulation, duration: `${document.simulation.duration}s` }
      : usual.simulation,
    ports: (document.ports ?? []).map(portText),
    readiness: readinessText(document.readiness),
    launch: document.launch ?? 'plain',
    runtime: document.runtime ?? undefined,
    home: document.home ?? false,
    network: document.network ?? true,
    hidden: listed(document.secrets),
  };
}
