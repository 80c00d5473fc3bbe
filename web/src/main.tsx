import { QueryClient } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import './theme/tokens.css';
import './theme/base.css';
import './theme/overrides.css';
import { onPasswordNeeded, onSignedOut } from './api/client';
import { asksForDeleted } from './api/deletion';
import { ApiError } from './api/errors';
import { keys } from './api/keys';
import { dropSession } from './api/session';
import { App } from './App';
import { startLanguage } from './i18n';
import { makeRouter } from './routes';
import { holdSecretFromAddress, watchAddressForSecret } from './secret-from-address';
import { keptLanguage } from './theme/preferences';

holdSecretFromAddress();
watchAddressForSecret();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      enabled: (query) => !asksForDeleted(query),
      // On a machine without network the browser says "offline" although Corral on loopback answers.
      networkMode: 'always',
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && (error.unreachable || error.status >= 500),
    },
    mutations: { networkMode: 'always' },
  },
});
const router = makeRouter(queries);
onSignedOut(() => dropSession(queries));
onPasswordNeeded(() => void queries.invalidateQueries({ queryKey: keys.session }));

const element = document.getElementById('root');
if (!element) throw new Error('index.html has no #root');
await startLanguage(keptLanguage());
createRoot(element).render(<App queries={queries} router={router} />);
