import { queryOptions } from '@tanstack/react-query';
import { body, client } from './client';
import { keys } from './keys';

export const checklistQuery = queryOptions({
  queryKey: keys.checklist,
  queryFn: () => body(client.GET('/api/v1/checklist')),
});

export const systemQuery = queryOptions({
  queryKey: keys.system,
  queryFn: () => body(client.GET('/api/v1/system')),
  staleTime: 300_000,
});

export const peopleSummaryQuery = queryOptions({
  queryKey: [...keys.users, 'summary'],
  queryFn: () => body(client.GET('/api/v1/users/summary')),
});

export const mailSettingsQuery = queryOptions({
  queryKey: [...keys.settings, 'mail'],
  queryFn: () => body(client.GET('/api/v1/settings/mail')),
});

export const registrationSettingsQuery = queryOptions({
  queryKey: [...keys.settings, 'registration'],
  queryFn: () => body(client.GET('/api/v1/settings/registration')),
});
