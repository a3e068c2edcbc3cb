<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

/** Frames about backups. */
final class BackupFrames
{
    /**
     * BACKUP_READ: Reads a part of that backup.
     *
     * @param array{
     *     offset: int, // Where the part begins.
     *     bytes: int, // Most bytes of it: 1 to `BACKUP_READ_BYTES_MAX`.
     * } $f
     */
    public static function encodeBackupRead(array $f): string
    {
        if ($f['bytes'] >> 32 !== 0) {
            throw Codec::outOfRange(['bytes' => [$f['bytes'], 32]]);
        }

        return pack('PV', $f['offset'], $f['bytes']);
    }

    /**
     * BACKUP_READY: A backup can be read.
     *
     * @return array{
     *     index: int, // The last entry of the log that it contains.
     *     jobs: int, // How many jobs are in it.
     *     state_hash: string, // Hash of the state, as in QUEUE_STATS at that index.
     *     bytes: int, // How many bytes there are to be read: all of the backup but its footer.
     * }
     */
    public static function decodeBackupReady(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pindex/Pjobs/a16state_hash/Pbytes', 40, $frame, $at);

        return $f;
    }

    /**
     * BACKUP_DATA: A part of a backup.
     *
     * @return array{
     *     data: string, // The bytes at that offset; fewer than were asked for only at the end.
     * }
     */
    public static function decodeBackupData(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Vdata', 4, $frame, $at);
        $f['data'] = Codec::bytes($frame, $at, $f['data']);

        return $f;
    }
}
