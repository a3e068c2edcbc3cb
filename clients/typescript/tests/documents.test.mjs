// The programs of README.md and the tutorial: compiled with the types of this package, and run.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { emptyProject } from './support/project.mjs';
import { Server } from './support/server.mjs';

const run = promisify(execFile);
const home = new URL('../', import.meta.url);
const folder = new URL('build/documents/', home);
const programs = new Map();
let server;

before(async () => {
  server = await Server.start();
  for (const name of ['README.md', 'docs/tutorial.md']) {
    for (const [, file, code] of readFileSync(new URL(name, home), 'utf8').matchAll(/<!-- run: (\S+) -->\n```(?:ts|js)\n([\s\S]*?)```/g)) {
      programs.set(file, code.replaceAll('127.0.0.1:7440', server.address));
    }
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, code] of programs) writeFileSync(new URL(file, folder), code);
  const hash = 'interface Hash { update(text: string): Hash; digest(as: "hex"): string }';
  writeFileSync(
    new URL('env.d.ts', folder),
    `declare const process: { once(event: 'SIGTERM', listener: () => void): void };
    declare module 'node:assert/strict' { const assert: { deepEqual(a: unknown, b: unknown): void }; export default assert; }
    declare module 'node:test' { export function test(name: string, run: (t: { after(end: () => Promise<void>): void }) => Promise<void>): void; }
    declare module 'node:crypto' { ${hash} export function createHash(name: string): Hash; }\n`,
  );
  const compilerOptions = { target: 'es2022', lib: ['es2022', 'dom', 'esnext.disposable'], module: 'nodenext', strict: true, skipLibCheck: false, types: [] };
  writeFileSync(new URL('tsconfig.json', folder), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', home));
  await run(process.execPath, [tsc, '-p', fileURLToPath(folder)]).catch((error) => assert.fail(error.stdout));
});

after(async () => {
  await server?.stop();
});

const path = (file) => fileURLToPath(new URL(file.replace('.ts', '.js'), folder));
const output = async (file) => (await run(process.execPath, [path(file)], { timeout: 20_000 })).stdout.trim().split('\n');

test('the producer and the worker of the README', async () => {
  assert.match((await output('producer.ts'))[0], /^job \d+ is durable$/);
  const worker = spawn(process.execPath, [path('worker.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => worker.once('exit', (code, signal) => resolve({ code, signal })));
  const [chunk] = await new Promise((resolve) => worker.stdout.once('data', (...all) => resolve(all)));
  assert.equal(String(chunk), 'order 17 is closed\n');
  worker.kill('SIGTERM');
  assert.deepEqual(await ended, { code: 0, signal: null });
});

test('the list that is pushed twice, the topic, the groups, and the schedules, of the README', async () => {
  assert.deepEqual(await output('import.ts'), ['2n']);
  assert.deepEqual(await output('topic.ts'), ['5 undefined https://shop.example/hooks', "[ 'backoff' ]"]);
  assert.deepEqual(await output('groups.ts'), ['ann 2n 1 false', 'bob 1n 5 true', 'true ann', 'group_leases']);
  assert.deepEqual(await output('schedule.ts'), ['ready', 'morning null', '2027-03-28 03:00:00 +02:00 CEST']);
  assert.deepEqual(await output('fill.ts'), ['7 7']);
});

test('the plain program of the README', async () => {
  assert.deepEqual(await output('plain.cjs'), ['']);
});

test('the traces of the README', async () => {
  // The SDK of the application is loaded before its program, and prints the spans at the end.
  const sdk = new URL('tests/support/spans.mjs', home);
  const shown = `import { takeSpans } from '${sdk}';
    const spans = () => takeSpans().map((span) => [span.name, span.parentSpanContext?.spanId, span.spanContext().spanId]);
    process.on('exit', () => console.log(JSON.stringify(spans())));`;
  const { stdout } = await run(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(shown)}`, path('traces.ts')], { timeout: 20_000 });
  const spans = JSON.parse(stdout);
  const nameOf = (id) => spans.find(([, , own]) => own === id)?.[0];
  assert.deepEqual(
    spans.map(([name, parent]) => [name, nameOf(parent)]),
    [['push invoices', 'place order'], ['place order', undefined], ['write invoice', 'process invoices'], ['process invoices', 'push invoices']],
  );
});

test('the test of the README', async () => {
  // A runner of its own, not a part of this one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', path('unpaid.test.ts')], { env, timeout: 20_000 });
  assert.match(stdout, /^ok 1 - an order is closed after 30 minutes$/m);
  assert.match(stdout, /^# pass 1$/m);
});

test('the tutorial', async () => {
  assert.deepEqual(await output('tutorial-1.ts'), ['delayed']);
  const [there, gone] = await output('tutorial-2.ts');
  assert.match(there, /^job \d+ is there already$/);
  assert.equal(gone, 'it is gone');
  assert.deepEqual(await output('tutorial-3.ts'), ['attempt 1', 'attempt 2', 'attempt 3', 'finished']);
  assert.deepEqual(await output('tutorial-4.ts'), ['abandoned: 0', '1n']);
  assert.deepEqual(await output('tutorial-5.ts'), ['0', '{ order: 20 }']);
});

test('CommonJS programs get the same client', async () => {
  const code = `
    const { connect, UsageError } = require('adjourn');
    const { startQueue } = require('adjourn/testing');
    const { openTelemetry } = require('adjourn/opentelemetry');
    const { encodeRequest } = require('adjourn/protocol');
    connect('http://x').catch((error) => console.log(error instanceof UsageError, typeof startQueue, typeof openTelemetry.push, encodeRequest('PING', 1, {}).length));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', code], { cwd: fileURLToPath(folder) });
  assert.equal(stdout, 'true function function 12\n');
});

test('without OpenTelemetry there is all but its binding', async (t) => {
  const cwd = emptyProject(t);
  const says = async (name) => (await run(process.execPath, ['--input-type=module', '-e', `import('${name}').then(() => console.log('loaded'), (error) => console.log(error.message))`], { cwd })).stdout;
  for (const name of ['adjourn', 'adjourn/testing', 'adjourn/protocol']) assert.equal(await says(name), 'loaded\n', name);
  assert.match(await says('adjourn/opentelemetry'), /Cannot find package '@opentelemetry\/api'/);
});

test('the package has what it promises', () => {
  const { files, exports, main, module, types } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8'));
  const targets = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(targets));
  for (const path of [...files, main, module, types, ...targets(exports), 'dist/cjs/package.json', 'dist/esm/package.json']) {
    assert.ok(existsSync(new URL(path, home)), path);
  }
});

test('the package has the documents that it links to', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: fileURLToPath(home) });
  const packed = JSON.parse(stdout)[0].files.map((file) => file.path);
  const linked = packed.filter((file) => file.endsWith('.md')).flatMap((file) => {
    const links = [...readFileSync(new URL(file, home), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)];
    return links.map(([, target]) => fileURLToPath(new URL(target, new URL(file, home))));
  });
  assert.ok(linked.length >= 2, 'the README and the tutorial link to each other');
  const files = packed.map((file) => fileURLToPath(new URL(file, home)));
  assert.deepEqual(linked.filter((target) => !files.includes(target)), []);
});
