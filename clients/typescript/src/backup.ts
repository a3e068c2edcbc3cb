/** A backup of the whole queue, read part by part. */

import type { Engine } from './engine/engine.js';
import type { CallOptions } from './engine/interfaces.js';
import { BackupLostError, OutcomeUnknownError, ProtocolError, UsageError } from './errors.js';
import { NotFoundError } from './server-errors.js';
import type { OperatorCalls } from './operator-calls.js';
import { BACKUP_READ_BYTES_MAX } from './protocol/limits.js';
import type { ResponseFields } from './protocol/messages.js';
import { wholeNumber, wideNumber } from './whole-number.js';

/** How many reads are under way while the pieces are read in order, and how long each piece is. */
const READS_MAX = 4;
const PIECE_BYTES = BACKUP_READ_BYTES_MAX / 4;

/**
 * A backup that the server holds ready for this client's connection: the bytes of a backup file up to its footer. To make
 * backup *files*, use the command `adjourn backup create`.
 *
 * Iterate to read all of it in order. It does not survive its connection, nor the next `backup` of the same client: reads
 * fail with `BackupLostError` then, and another backup has to be taken. The server also lets go of one that is not read
 * for ten minutes.
 */
export class Backup implements AsyncIterable<Uint8Array>, AsyncDisposable {
  /** The last log entry in it. */
  readonly index: bigint;
  readonly jobs: bigint;
  /** As `stats` shows it at that entry. */
  readonly stateHash: bigint;
  /** Its size. */
  readonly bytes: bigint;
  /** The number of the connection that it belongs to. */
  private readonly connection: number;
  private hasEnded = false;

  /** Use `Client.backup`. */
  constructor(
    private readonly ask: OperatorCalls['ask'],
    private readonly engine: Engine,
    /** Whether the client has begun no other one since. */
    private readonly isLatest: () => boolean,
    ready: ResponseFields<'BACKUP_READY'>,
  ) {
    this.index = ready.index;
    this.jobs = ready.jobs;
    this.stateHash = ready.stateHash;
    this.bytes = ready.bytes;
    this.connection = engine.reconnects;
  }

  /**
   * Up to `bytes` bytes from `offset` on, at most 1,048,576. There are fewer only at the end, and none after it. Several
   * reads may be under way, in any order.
   */
  async read(offset: number | bigint, bytes: number, options: CallOptions = {}): Promise<Uint8Array> {
    const fields = { offset: wideNumber('offset', offset), bytes: wholeNumber('bytes', bytes, BACKUP_READ_BYTES_MAX) };
    if (this.hasEnded) throw new UsageError('the backup was ended');
    if (this.isGone) throw new BackupLostError();
    try {
      const { data } = await this.ask('BACKUP_READ', fields, 'BACKUP_DATA', options);
      // The answer may be about another backup, over a later connection.
      if (!this.isHeld) throw new BackupLostError();
      return data;
    } catch (error) {
      // To read leaves no doubt behind.
      if (error instanceof NotFoundError || error instanceof OutcomeUnknownError) throw new BackupLostError(error);
      throw error;
    }
  }

  /** All of it, piece by piece, in order. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const reads: { readonly bytes: number; readonly data: Promise<Uint8Array> }[] = [];
    for (let offset = 0n; offset < this.bytes || reads.length > 0; ) {
      while (offset < this.bytes && reads.length < READS_MAX) {
        const left = this.bytes - offset;
        const bytes = left < PIECE_BYTES ? Number(left) : PIECE_BYTES;
        const data = this.read(offset, bytes);
        // Those behind one that fails fail unheard.
        data.catch(() => {});
        reads.push({ bytes, data });
        offset += BigInt(bytes);
      }
      const { bytes, data } = reads.shift()!;
      const piece = await data;
      if (piece.byteLength !== bytes) throw new ProtocolError(`${piece.byteLength} bytes of a backup instead of ${bytes}`, 'no');
      yield piece;
    }
  }

  /** The server need not hold it any longer. */
  async end(options: CallOptions = {}): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    // The end of its connection released it, or the next backup did.
    if (this.isGone || this.engine.ended) return;
    try {
      await this.ask('BACKUP_END', {}, 'DONE', options);
    } catch (error) {
      if (!(error instanceof OutcomeUnknownError)) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /** Whether there is nothing to ask for. A client that was closed says that itself. */
  private get isGone(): boolean {
    return !this.isHeld || (this.engine.state === 'down' && !this.engine.ended);
  }

  private get isHeld(): boolean {
    return this.isLatest() && this.engine.reconnects === this.connection;
  }
}
