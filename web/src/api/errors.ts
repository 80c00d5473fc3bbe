export interface FieldProblem {
  field: string;
  message: string;
  remedy?: string | null;
}

interface ProblemBody {
  type?: string;
  title?: string;
  status?: number;
  detail?: string | null;
  remedy?: string | null;
  request_id?: string | null;
  errors?: FieldProblem[] | null;
  [extra: string]: unknown;
}

/** A refusal of the server (problem+json), or no answer at all (status 0, slug "unreachable"). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly slug: string;
  readonly detail: string | null;
  readonly remedy: string | null;
  readonly requestId: string | null;
  readonly fields: readonly FieldProblem[];

  constructor(
    readonly status: number,
    readonly body: ProblemBody,
  ) {
    super(body.title ?? `HTTP ${status}`);
    this.slug = body.type?.split('/').pop() ?? 'unknown';
    this.detail = body.detail ?? null;
    this.remedy = body.remedy ?? null;
    this.requestId = body.request_id ?? null;
    this.fields = body.errors ?? [];
  }

  get unreachable(): boolean {
    return this.status === 0;
  }

  /** What the address names is not there: unknown here, or no id at all. */
  get nowhere(): boolean {
    return (
      this.status === 404 || (this.fields.length > 0 && this.fields.every(({ field }) => field.startsWith('path.')))
    );
  }

  /** A number the problem carries beside the standard members, such as tries_left. */
  number(member: string): number | null {
    const value = this.body[member];
    return typeof value === 'number' ? value : null;
  }
}

export async function problemOf(response: Response): Promise<ApiError> {
  const isProblem = response.headers.get('content-type')?.includes('json') ?? false;
  const text = await response.text();
  if (!isProblem)
    return new ApiError(response.status, { type: '/problems/not-an-answer', title: `HTTP ${response.status}` });
  return new ApiError(response.status, JSON.parse(text) as ProblemBody);
}

export function unreachable(): ApiError {
  return new ApiError(0, { type: '/problems/unreachable' });
}

/** Field problems as Ant Design's Form.setFields takes them; body.mail and mail both mean the field mail. */
export function formFields(error: ApiError): { name: string[]; errors: string[] }[] {
  const fields = new Map<string, string[]>();
  for (const { field, message, remedy } of error.fields) {
    const path = field.replace(/^(body|query|path)\./, '');
    fields.set(path, [...(fields.get(path) ?? []), [message, remedy].filter(Boolean).join(' ')]);
  }
  return [...fields].map(([path, errors]) => ({ name: path.split('.'), errors }));
}

/** A problem inside of what is one field of the form is that field's: nodes.0.devices of a description is nodes. */
export function toField(values: Record<string, unknown>, path: readonly string[]): string[] {
  let within: unknown = values;
  const depth = path.findIndex((name) => {
    within = (within as Record<string, unknown> | undefined)?.[name];
    return typeof within !== 'object' || within === null;
  });
  return typeof within === 'string' ? path.slice(0, depth + 1) : [...path];
}
