<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backup;
use Adjourn\Client;
use Adjourn\Error\BackupLost;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\UsageError;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use PHPUnit\Framework\TestCase;

/** A backup, read piece by piece. */
final class BackupTest extends TestCase
{
    private const READY = ['index' => 3, 'jobs' => 1, 'state_hash' => "\1\2\3\4\5\6\7\0\0\0\0\0\0\0\0\0", 'bytes' => 10];

    public function testABackupOfARealQueueIsReadInOrder(): void
    {
        $server = TestServer::start();
        $client = new Client($server->address());
        $client->pushMany('t', array_fill(0, 3, new NewJob(str_repeat('body', 150_000))));
        $backup = $client->backup();
        self::assertSame(3, $backup->jobs);
        self::assertGreaterThan(1_800_000, $backup->bytes);
        $pieces = iterator_to_array($backup->pieces(), false);
        self::assertCount(intdiv($backup->bytes, Backup::READ_BYTES_MAX) + 1, $pieces);
        $bytes = implode('', $pieces);
        self::assertSame($backup->bytes, strlen($bytes));
        self::assertSame('ADJBCKUP', substr($bytes, 0, 8));
        self::assertSame(substr($bytes, 1_000_000, 5000), $backup->read(1_000_000, 5000), 'Any part may be read, in any order.');
        self::assertSame('', $backup->read($backup->bytes));
        self::assertSame($bytes, implode('', iterator_to_array($backup->pieces(700_000), false)));
        $backup->end();
        $this->expectException(NotFound::class);
        $client->session()->call(Opcode::BackupRead, ['offset' => 0, 'bytes' => 8]);
    }

    public function testTheNextBackupEndsTheOneBefore(): void
    {
        $server = TestServer::start();
        $client = new Client($server->address());
        $first = $client->backup();
        $second = $client->backup();
        // This is not for the server: it would end the second one.
        $first->end();
        self::assertSame('ADJBCKUP', $second->read(0, 8));
        $third = $client->backup();
        self::assertSame('ADJBCKUP', $third->read(0, 8));
        $this->expectException(BackupLost::class);
        $second->read(0, 8);
    }

    public function testABackupIsLostWithItsConnection(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->send(Opcode::BackupReady, $peer->next()->requestId, self::READY);
            $listener->report($peer->next()->opcode->name);
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $request = $peer->next();
            $listener->report($request->opcode->name);
            $peer->error($request->requestId, 36);
            $peer->next();
        });
        $client = new Client($server->address());
        $backup = $client->backup();
        self::assertSame([3, 1, 10, '00000000000000000007060504030201'], [$backup->index, $backup->jobs, $backup->bytes, $backup->stateHash]);
        foreach (['while it is read', 'after the loss'] as $when) {
            try {
                $backup->read(0);
                self::fail("The backup is lost: $when.");
            } catch (BackupLost $error) {
                self::assertFalse($error->mayBeApplied);
            }
        }
        self::assertNull($client->peek('t'));
        try {
            $backup->read(0);
            self::fail('The backup belonged to the connection before.');
        } catch (BackupLost) {
            $backup->end();
        }
        self::assertSame(['BackupRead', 'Peek'], [$server->report(), $server->report()]);
    }

    public function testTheServerMayTakeMinutesToBeReady(): void
    {
        $server = new MemoryServer(static function (Message $request, MemoryServer $server): void {
            if ($request->opcode === Opcode::BackupBegin) {
                // Only heartbeats go on for half an hour.
                $server->later(1_800_000, Opcode::BackupReady, $request->requestId, self::READY);
            }
        });
        $client = new Client(new Options(), $server, $server->clock);
        self::assertSame(10, $client->backup()->bytes);
        self::assertGreaterThanOrEqual(1_800_000, $server->clock->nowMs());
    }

    public function testABackupThatWasEndedCannotBeRead(): void
    {
        $server = new MemoryServer(static function (Message $request, MemoryServer $server): void {
            match ($request->opcode) {
                Opcode::BackupBegin => $server->send(Opcode::BackupReady, $request->requestId, self::READY),
                default => $server->send(Opcode::Done, $request->requestId),
            };
        });
        $backup = (new Client(new Options(), $server, $server->clock))->backup();
        $backup->end();
        $this->expectException(UsageError::class);
        $backup->read(0, 8);
    }
}
