// Runs the checks of a client in Node, one after another: each gets a tube of its own, and none may take for ever.
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { env, exit, stderr, stdout } from 'node:process';
import { setTimeout as after } from 'node:timers/promises';

/** What must happen soon has happened by then, however busy the machine is. */
export const PATIENCE_S = 30;
/** It does not pass during a check. */
export const LONG_S = 3600;
export const SHARED_JOBS = 100;
export const BODY_BYTES = 60_000;
const CHECK_MAX_MS = 60_000;

/** Loads a package from the folder that `run` installed. */
export const load = createRequire(`${env.NODE_PACKAGES}/`);

/** Waits for a condition that only the server can tell. */
export async function until(condition) {
  for (let tries = 0; tries < PATIENCE_S * 100; tries += 1) {
    if (await condition()) return;
    await after(10);
  }
  throw new Error('the condition did not become true');
}

/** What the check's connections have in common: a tube, and an end. */
class Rig {
  #connect;
  #opened = [];

  constructor(client, check, connect) {
    this.tube = `${client}-${randomBytes(4).toString('hex')}-${check}`;
    this.#connect = connect;
  }

  /** A client that uses and watches the check's tube. */
  async connect(options) {
    const queue = await this.#connect(options);
    await queue.use(this.tube);
    await queue.watch(this.tube);
    await queue.ignore('default');
    this.#opened.push(queue);
    return queue;
  }

  async close(queue) {
    this.#opened = this.#opened.filter((each) => each !== queue);
    await queue.disconnect();
  }

  async closeAll() {
    for (const queue of this.#opened) await this.close(queue);
  }
}

/** Runs all checks of a client; `connect` makes a connection of it. Ends the process. */
export async function run(client, checks, connect) {
  let failed = false;
  for (const [name, check] of Object.entries(checks)) {
    stderr.write(`${name}\n`);
    const rig = new Rig(client, name, connect);
    const limit = after(CHECK_MAX_MS, undefined, { ref: false }).then(() => {
      throw new Error(`no end after ${CHECK_MAX_MS} ms`);
    });
    try {
      await Promise.race([check(rig).then(() => rig.closeAll()), limit]);
    } catch (error) {
      failed = true;
      stderr.write(`${client}: ${name} FAILED\n${error.stack}\n`);
    }
  }
  const { version } = load(`${client}/package.json`);
  if (!failed) stdout.write(`${client} ${version}: ${Object.keys(checks).length} checks passed\n`);
  exit(failed ? 1 : 0);
}
