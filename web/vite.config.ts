import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const server = process.env.CORRAL_URL ?? 'http://127.0.0.1:8710';
// To the server the requests come from its own console; it refuses changes from other origins.
const proxy = { '/api': { target: server, changeOrigin: false, headers: { origin: server } } };

export default defineConfig({
  plugins: [react()],
  server: { host: '127.0.0.1', proxy },
  preview: { host: '127.0.0.1', proxy },
  worker: { format: 'es' },
  build: {
    outDir: '../src/corral/server/console',
    emptyOutDir: true,
    // npm run size reads it; the server ignores dot folders.
    manifest: true,
    target: 'es2022',
    // The content security policy allows fonts and images from the server only, not data: scripts.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1200,
  },
  // Time in tests is fake; the limit is for a machine that does many other things.
  // One load of the modules for all files: none of the tests keeps state in them.
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    environment: 'node',
    testTimeout: 30_000,
    pool: 'threads',
    isolate: false,
  },
});
