type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const PLAIN = /^(?:[A-Za-z_./][\w./ -]*|(?:\d+x)?\d+(?:\.\d+)?[KMGT]i|\d+m|\d+s)$/;
const WORDS = /^(?:true|false|yes|no|on|off|null|~|y|n)$/i;

function scalar(value: Json): string {
  if (typeof value === 'string')
    return PLAIN.test(value) && !WORDS.test(value) && !value.endsWith(' ') ? value : JSON.stringify(value);
  return JSON.stringify(value);
}

const isEmpty = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const isFlat = (value: Json): value is Exclude<Json, Json[] | { [key: string]: Json }> =>
  typeof value !== 'object' || value === null;

/** A document as YAML that every YAML 1.2 reader understands; strings that could be taken for something else are quoted. */
export function toYaml(value: { [key: string]: Json }, indent = ''): string {
  return Object.entries(value)
    .map(([key, one]) => {
      const name = PLAIN.test(key) && !WORDS.test(key) ? key : JSON.stringify(key);
      if (isFlat(one)) return `${indent}${name}: ${scalar(one)}\n`;
      if (isEmpty(one)) return `${indent}${name}: ${Array.isArray(one) ? '[]' : '{}'}\n`;
      if (Array.isArray(one))
        return `${indent}${name}:\n${one.map((item) => `${indent}  - ${isFlat(item) ? scalar(item) : JSON.stringify(item)}\n`).join('')}`;
      return `${indent}${name}:\n${toYaml(one, `${indent}  `)}`;
    })
    .join('');
}

const WHOLE = 1000;
const GIB = 1024;
const size = (mib: number): string => (mib % GIB === 0 ? `${mib / GIB}Gi` : `${mib}Mi`);

/** What a document asks for, as people write it: cores, sizes with their unit, GPUs in short where that says all. */
export function asWritten(resources: { [key: string]: Json }): { [key: string]: Json } {
  const { cpu_milli, memory_mib, gpu, ...rest } = resources;
  return {
    ...(typeof cpu_milli === 'number' ? { cpu: cpu_milli / WHOLE } : {}),
    ...(typeof memory_mib === 'number' ? { memory: size(memory_mib) } : {}),
    ...rest,
    ...(gpu === undefined ? {} : { gpu: shortGpu(gpu) }),
  };
}

function shortGpu(gpu: Json): Json {
  if (typeof gpu !== 'object' || gpu === null || Array.isArray(gpu)) return gpu;
  const { count = 1, memory_mib, fraction_milli, profile, compute_percent, models, ...others } = gpu;
  const more = Object.keys(others).length > 0 || !!compute_percent || (Array.isArray(models) && models.length > 0);
  if (more || typeof count !== 'number') return gpu;
  const many = count > 1 ? `${count}x` : '';
  if (typeof memory_mib === 'number') return `${many}${size(memory_mib)}`;
  if (typeof memory_mib === 'string') return `${many}${memory_mib}`;
  if (typeof fraction_milli === 'number') return many ? `${many}${fraction_milli / WHOLE}` : fraction_milli / WHOLE;
  return typeof profile === 'string' ? `${many}${profile}` : count;
}

/** A stored document as one would write it to have the same again: without what Corral added and what says nothing. */
export function toGive(spec: Record<string, unknown>): { [key: string]: Json } {
  const added = new Set(['pool_ids', 'zone_reason', ...(spec.flavor ? ['resources'] : [])]);
  const given = clean(
    Object.fromEntries(Object.entries(spec as Record<string, Json>).filter(([key]) => !added.has(key))),
  );
  return written(given);
}

/** The document with its resources as people write them. */
export function written(document: { [key: string]: Json }): { [key: string]: Json } {
  const { resources } = document;
  if (typeof resources !== 'object' || resources === null || Array.isArray(resources)) return document;
  return { ...document, resources: asWritten(resources) };
}

function clean(value: { [key: string]: Json }): { [key: string]: Json } {
  const kept = Object.entries(value).filter(([, one]) => one !== null && !isEmpty(one));
  return Object.fromEntries(kept.map(([key, one]) => [key, isFlat(one) || Array.isArray(one) ? one : clean(one)]));
}
