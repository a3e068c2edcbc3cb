<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Connection\Session;
use Adjourn\Error\BackupLost;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\UsageError;
use Adjourn\Protocol\Opcode;

/**
 * A backup of the whole queue, as of one log entry. Its bytes are those of a backup file up to its footer: to make backup
 * *files*, use the command `adjourn backup create`.
 *
 * The server holds it for the client's connection. It is lost with that connection, with the client's next backup, and
 * after ten minutes without a read. Then reads throw BackupLost.
 */
final class Backup
{
    /** The most bytes of one read. */
    public const READ_BYTES_MAX = Limit::BACKUP_READ_BYTES_MAX;

    /** The last log entry in it. */
    public readonly int $index;
    public readonly int $jobs;
    /** Of the state at that entry, as `Client::stats` shows it. */
    public readonly string $stateHash;
    /** How many bytes there are to read. */
    public readonly int $bytes;
    private readonly ?int $connection;
    private bool $isEnded = false;

    /**
     * @internal See Client::backup.
     *
     * @param array<string, mixed> $ready the fields of BACKUP_READY
     * @param \Closure(): bool $isLast whether the client has not begun another one
     */
    public function __construct(
        private readonly Session $session,
        array $ready,
        private readonly \Closure $isLast,
    ) {
        $this->index = $ready['index'];
        $this->jobs = $ready['jobs'];
        $this->stateHash = bin2hex(strrev($ready['state_hash']));
        $this->bytes = $ready['bytes'];
        $this->connection = $session->connectionNumber();
    }

    /**
     * The bytes from this offset on. They are fewer than asked for only at the end, and none behind it.
     *
     * @throws BackupLost
     */
    public function read(int $offset, int $bytes = self::READ_BYTES_MAX): string
    {
        if ($offset < 0 || $bytes < 1 || $bytes > self::READ_BYTES_MAX) {
            throw new UsageError('A read begins at 0 or later, and has 1 to ' . self::READ_BYTES_MAX . ' bytes.');
        }
        if ($this->isEnded) {
            throw new UsageError('The backup was ended.');
        }
        if (!$this->isHeld()) {
            throw new BackupLost('The backup ended with its connection, or with the next backup.');
        }
        try {
            return $this->session->call(Opcode::BackupRead, ['offset' => $offset, 'bytes' => $bytes])['data'];
        } catch (NotFound|OutcomeUnknown $error) {
            throw new BackupLost('The server does not hold the backup any more.', $error);
        }
    }

    /**
     * All of it, in order: each piece is read when the caller asks for it.
     *
     * @return iterable<string>
     * @throws BackupLost
     */
    public function pieces(int $pieceBytes = self::READ_BYTES_MAX): iterable
    {
        for ($offset = 0; $offset < $this->bytes; $offset += strlen($piece)) {
            $piece = $this->read($offset, $pieceBytes);
            if ($piece === '') {
                throw new ProtocolError("The backup ends at byte $offset of $this->bytes.");
            }
            yield $piece;
        }
    }

    /** Lets the server release it. Another one may wait for that. */
    public function end(): void
    {
        if (!$this->isEnded && $this->isHeld()) {
            try {
                $this->session->call(Opcode::BackupEnd);
            } catch (NotFound|OutcomeUnknown) {
                // It ended with its connection.
            }
        }
        $this->isEnded = true;
    }

    private function isHeld(): bool
    {
        return $this->connection !== null && $this->session->connectionNumber() === $this->connection && ($this->isLast)();
    }
}
