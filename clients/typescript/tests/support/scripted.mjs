// A server that does what a test says, over a real socket.

import { createServer } from 'node:net';
import { afterEach } from 'node:test';
import { connect } from 'adjourn';
import { FrameSplitter, decodeRequest, encodeResponse } from 'adjourn/protocol';

export const WELCOME = {
  version: 1,
  marks: 0,
  clusterId: new Uint8Array(16).fill(7),
  session: 9n,
  secret: new Uint8Array(16).fill(3),
  heartbeatMs: 3_000,
  sessionGraceMs: 10_000,
  frameBytesMax: 1_114_112,
  bodyBytesMax: 1_048_576,
  pushJobsMax: 4_096,
  leasesMax: 4_096,
  reserveJobsMax: 1_024,
  inFlightMax: 1_024,
  serverName: 'scripted',
  members: [],
  clockMs: 0n,
};

export const ERROR = { code: 5, marks: 0, applied: 0, retryAfterMs: 0, leader: '', message: 'scripted' };

export function delivered(fields) {
  return { job: 1n, fence: 1n, dueMs: 0n, priority: 1_024, attempts: 1, ttrLeftMs: 60_000, topic: 't', key: '', attributes: {}, body: new Uint8Array(0), deadlineMs: 0n, ...fields };
}

/**
 * `answer(request, peer, count)` returns the response as `[name, fields]`, or nothing to stay silent. HELLO and the
 * questions of the connection itself are answered here, unless `answers` names them.
 */
class Scripted {
  static async start(answer, options = {}) {
    const scripted = new Scripted(answer, options);
    await new Promise((resolve) => scripted.server.listen(0, '127.0.0.1', resolve));
    scripted.address = `127.0.0.1:${scripted.server.address().port}`;
    return scripted;
  }

  constructor(answer, options) {
    this.requests = [];
    this.connections = 0;
    this.sockets = new Set();
    this.server = createServer((socket) => {
      this.connections += 1;
      const connection = this.connections;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => {});
      const splitter = new FrameSplitter();
      socket.on('data', (bytes) => {
        splitter.push(bytes);
        for (let frame = splitter.next(); frame; frame = splitter.next()) {
          const request = { ...decodeRequest(frame), id: frame.id, connection };
          this.requests.push(request);
          const peer = {
            connection,
            socket,
            send: (name, fields = {}, id = frame.id) => socket.write(encodeResponse(name, id, fields)),
          };
          const own = options.answers?.includes(request.name) ? undefined : usual(request, connection, options.welcome);
          const response = own ?? answer(request, peer, this.requests.filter(({ name }) => name === request.name).length);
          if (response) peer.send(...response);
        }
      });
    });
  }

  seen(name) {
    return this.requests.filter((request) => request.name === name);
  }

  /** Ends all connections without a word. */
  cut() {
    for (const socket of this.sockets) socket.destroy();
  }

  stop() {
    this.cut();
    return new Promise((resolve) => this.server.close(resolve));
  }
}

function usual(request, connection, welcome = {}) {
  const none = request.name === 'HELLO' && request.fields.options & 2 ? { session: 0n, secret: new Uint8Array(16) } : {};
  if (request.name === 'HELLO') return ['WELCOME', { ...WELCOME, marks: request.fields.session === 0n ? 0 : 3, ...none, ...(typeof welcome === 'function' ? welcome(request, connection) : welcome) }];
  if (request.name === 'PING') return ['PONG', { now: 1n, clockMs: 0n }];
  if (request.name === 'GOODBYE') return ['DONE', {}];
  if (request.name === 'CLUSTER_STATUS') return ['ERROR', { ...ERROR, code: 2 }];
  if (request.name === 'UNSUBSCRIBE' || request.name === 'CANCEL') return ['DONE', {}];
  return undefined;
}

const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A scripted server; it stops after the test. */
export async function scripted(answer = () => undefined, options = {}) {
  const server = await Scripted.start(answer, options);
  ends.push(() => server.stop());
  return server;
}

/** A client that is connected to it, with short waits; it closes after the test. */
export async function client(server, options = {}) {
  const q = await connect(server.address ?? server, { closeTimeoutMs: 100, reconnectWaitMsMax: 20, ...options });
  ends.push(() => q.close());
  return q;
}

/** The answer to a PUSH, with ids from `first` on. */
export const pushed = ({ fields }, first = 40n) => ['PUSHED', { results: fields.jobs.map((_, at) => ({ outcome: 0, code: 0, job: first + BigInt(at) })) }];
