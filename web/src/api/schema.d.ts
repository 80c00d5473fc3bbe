// Hand-made from the contract until the server's OpenAPI document replaces it (npm run api).
export interface components {
  schemas: {
    User: {
      id: string; name: string; display_name: string; mail: string | null; state: 'active' | 'disabled' | 'pending'; priority: number;
      language: 'en' | 'zh-TW' | 'zh-CN' | null; theme: 'light' | 'dark' | 'system' | null; created_at: string; last_seen_at: string | null; generation: number;
      organisations: { id: string; name: string }[];
      roles: { grant_id: string; role_id: string; role_name: string; role_key: string | null; organisation_id: string; organisation_name: string; expires_at: string | null }[];
    };
    Session: { user: components['schemas']['User']; csrf_token: string; must_change_password: boolean; permissions: { organisation_id: string; permissions: string[] }[]; expires_at: string; via: 'session' | 'token' };
    LoginOptions: { organisation_name: string; version: string; providers: { key: string; kind: string }[]; sign_up: boolean };
    Organisation: { id: string; name: string; parent_id: string | null; path: string[]; people_count: number; generation: number; created_at: string };
    MySession: { id: string; created_at: string; last_seen_at: string; expires_at: string; address: string | null; user_agent: string | null; current: boolean };
    Token: { id: string; name: string; scopes: string[]; created_at: string; expires_at: string | null; last_used_at: string | null };
    SshKey: { id: string; title: string; public_key: string; fingerprint: string; created_at: string; last_used_at: string | null };
    AuditEntry: { id: string; at: string; actor_name: string | null; action: string; object_kind: string | null; object_name: string | null; result: string };
    InvitationPreview: { organisation_name: string; role_name: string; invited_by: string; mail: string | null; expires_at: string };
    JoinPreview: { organisation_name: string; role_name: string; seats_left: number; expires_at: string };
  };
}
type S = components['schemas'];
type Page<T> = { items: T[]; next_cursor: string | null };
type Answer<R> = { responses: { 200: { headers: { [name: string]: unknown }; content: { 'application/json': R } } } };
type Op<R, B = never, Q = never, P = never, H = never> = Answer<R> & {
  parameters: { query?: Q; path: P; header?: H; cookie?: never };
  requestBody: { content: { 'application/json': B } };
};
type Get<R, Q = { limit?: number; cursor?: string; sort?: string; search?: string }> = Answer<R> & { parameters: { query?: Q; header?: never; path?: never; cookie?: never }; requestBody?: never };
type Send<R, B> = Answer<R> & { parameters: { query?: never; header?: { 'Idempotency-Key'?: string; 'If-Match'?: string }; path?: never; cookie?: never }; requestBody: { content: { 'application/json': B } } };
type Bare<R> = Answer<R> & { parameters: { query?: never; header?: { 'If-Match'?: string }; path?: never; cookie?: never }; requestBody?: never };
type ById<R, K extends string> = Answer<R> & { parameters: { query?: never; header?: { 'If-Match'?: string }; path: Record<K, string>; cookie?: never }; requestBody?: never };
export type Unused = Op<never>;
export interface paths {
  '/api/v1/login-options': { get: Get<S['LoginOptions']> };
  '/api/v1/session': { get: Get<S['Session']>; post: Send<S['Session'], { provider: string; name: string; password: string }>; delete: Bare<undefined> };
  '/api/v1/session/link': { post: Send<S['Session'], { secret: string }> };
  '/api/v1/sign-up': { post: Send<{ state: string }, { name: string; display_name: string; mail: string; password: string }> };
  '/api/v1/invitations/preview': { post: Send<S['InvitationPreview'], { secret: string }> };
  '/api/v1/invitations/accept': { post: Send<S['Session'], { secret: string; name: string; display_name: string; password: string }> };
  '/api/v1/join/preview': { post: Send<S['JoinPreview'], { code: string }> };
  '/api/v1/join': { post: Send<S['Session'], { code: string; name: string; display_name: string; mail?: string | null; password: string }> };
  '/api/v1/me': { get: Get<S['User']>; patch: Send<S['User'], { display_name?: string; mail?: string | null; language?: S['User']['language']; theme?: S['User']['theme'] }> };
  '/api/v1/me/password': { post: Send<undefined, { current_password?: string; new_password: string }> };
  '/api/v1/me/sessions': { get: Get<Page<S['MySession']>> };
  '/api/v1/me/sessions/{session_id}': { delete: ById<undefined, 'session_id'> };
  '/api/v1/me/sessions/revoke-others': { post: Bare<undefined> };
  '/api/v1/me/tokens': { get: Get<Page<S['Token']>>; post: Send<{ token: S['Token']; secret: string }, { name: string; scopes: string[]; expires_at: string }> };
  '/api/v1/me/tokens/{token_id}': { delete: ById<undefined, 'token_id'> };
  '/api/v1/me/ssh-keys': { get: Get<Page<S['SshKey']>>; post: Send<S['SshKey'], { title: string; public_key: string }> };
  '/api/v1/me/ssh-keys/{key_id}': { delete: ById<undefined, 'key_id'> };
  '/api/v1/me/join': { post: Send<S['User'], { code: string }> };
  '/api/v1/organisations': { get: Get<Page<S['Organisation']>> };
  '/api/v1/users': { get: Get<Page<S['User']>> };
  '/api/v1/audit': { get: Get<Page<S['AuditEntry']>> };
}
