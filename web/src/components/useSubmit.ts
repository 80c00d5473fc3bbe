import type { FormInstance } from 'antd';
import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, formFields, toField } from '../api/errors';
import { useAdopt } from './LatestVersion';
import { standing, useUnsaved } from './unsaved';

/** Whether an answer means that what stands in the form is kept now; false for a form that changes nothing. */
type Saves<Result> = false | ((result: Result) => boolean);

/**
 * Sends a form once. Field problems go to their fields; the rest is kept in `error` for a
 * ProblemNotice above the form. What was typed and not sent is not left without a question.
 */
export function useSubmit<Values, Result>(
  form: FormInstance,
  send: (values: Values) => Promise<Result>,
  then?: (result: Result) => void,
  saves: Saves<Result> = always,
) {
  const adopt = useAdopt();
  const began = useRef('');
  useEffect(() => {
    began.current = standing(form.getFieldsValue(true));
  }, [form]);
  useUnsaved(() => saves !== false && standing(form.getFieldsValue(true)) !== began.current);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = useCallback(
    async (values: Values) => {
      setBusy(true);
      setError(null);
      try {
        const result = await send(values);
        const kept = saves !== false && saves(result);
        if (kept) began.current = standing(form.getFieldsValue(true));
        if (kept && isVersioned(result)) adopt(result);
        then?.(result);
        // It may have emptied the form for the next one.
        if (kept) began.current = standing(form.getFieldsValue(true));
      } catch (problem) {
        if (!(problem instanceof ApiError)) throw problem;
        const given = form.getFieldsValue() as Record<string, unknown>;
        const fields = formFields(problem).map((one) => ({ ...one, name: toField(given, one.name) }));
        const present = Object.keys(given);
        const known = fields.filter(({ name }) => present.includes(name[0] ?? ''));
        form.setFields(known);
        if (fields.length === 0 || known.length < fields.length) setError(problem);
      } finally {
        setBusy(false);
      }
    },
    [form, send, then, saves, adopt],
  );
  return { submit, busy, error, clear: () => setError(null) };
}

const always = (): boolean => true;

const isVersioned = (result: unknown): result is { generation: number } =>
  typeof result === 'object' && result !== null && 'generation' in result;
