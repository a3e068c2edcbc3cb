<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\CancelToken;
use Adjourn\Client;
use Adjourn\Options;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use PHPUnit\Framework\TestCase;

/** The wait of RESERVE, which a server may end early. */
final class ReserveTest extends TestCase
{
    public function testAWaitThatEndedEarlyGoesOn(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $reserve = $peer->next();
            $listener->report($reserve->fields['wait_ms']);
            $peer->send(Opcode::Reserved, $reserve->requestId, ['jobs' => []]);
            // This connection goes on; the next answer ends it.
            $reserve = $peer->next();
            $listener->report($reserve->fields['wait_ms']);
            $peer->send(Opcode::GoingAway, 0, ['message' => 'stops', 'reason' => 1]);
            $peer->send(Opcode::Reserved, $reserve->requestId, ['jobs' => []]);
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $reserve = $peer->next();
            $listener->report($reserve->fields['wait_ms']);
            $peer->send(Opcode::Reserved, $reserve->requestId, ['jobs' => [Peer::delivered(42, 7)]]);
            $peer->next();
        });
        $client = new Client($server->address());
        self::assertSame(42, $client->reserve('t', 30_000)[0]->id);
        $waits = [$server->report(), $server->report(), $server->report()];
        self::assertLessThanOrEqual(30_000, $waits[0]);
        self::assertLessThanOrEqual($waits[0], $waits[1]);
        self::assertLessThanOrEqual($waits[1], $waits[2]);
        self::assertGreaterThan(0, $waits[2]);
    }

    public function testAServerThatAlwaysAnswersAtOnceIsNotAskedAtOnce(): void
    {
        $waits = [];
        $server = new MemoryServer(static function (Message $request, MemoryServer $server) use (&$waits): void {
            if ($request->opcode === Opcode::Reserve) {
                $waits[] = $request->fields['wait_ms'];
                self::assertLessThan(1000, count($waits), 'The client asks all the time.');
                $server->send(Opcode::Reserved, $request->requestId, ['jobs' => []]);
            }
        });
        $client = new Client(new Options(), $server, $server->clock);
        self::assertSame([], $client->reserve('t', 60_000));
        self::assertSame(60_000, $server->clock->nowMs());
        self::assertSame(60_000, $waits[0]);
        self::assertSame(1, end($waits), 'The last look is at the end of the wait.');
        $sorted = $waits;
        rsort($sorted);
        self::assertSame($sorted, $waits, 'Each time the client asks for the rest.');
    }

    public function testACancelledWaitIsOverWithTheNextAnswer(): void
    {
        $cancel = new CancelToken();
        $asked = [];
        $server = new MemoryServer(static function (Message $request, MemoryServer $server) use ($cancel, &$asked): void {
            $asked[] = $request->opcode;
            if ($request->opcode === Opcode::Reserve) {
                $cancel->cancel();
            } elseif ($request->opcode === Opcode::Cancel) {
                $server->send(Opcode::Done, $request->requestId);
                $server->send(Opcode::Reserved, $request->fields['request'], ['jobs' => []]);
            }
        });
        $client = new Client(new Options(), $server, $server->clock);
        self::assertSame([], $client->reserve('t', 60_000, cancel: $cancel));
        self::assertSame([Opcode::Reserve, Opcode::Cancel], $asked);
    }

    public function testTheEndOfTheSessionEndsTheWait(): void
    {
        $reserve = null;
        $server = new MemoryServer(static function (Message $request, MemoryServer $server) use (&$reserve): void {
            if ($request->opcode === Opcode::Reserve) {
                $reserve = $request->requestId;
            } elseif ($request->opcode === Opcode::Goodbye) {
                $server->send(Opcode::Reserved, $reserve, ['jobs' => []]);
                $server->send(Opcode::Done, $request->requestId);
            }
        });
        $client = new Client(new Options(), $server, $server->clock);
        $session = $client->session();
        $call = $session->submit(Opcode::Reserve, ['wait_ms' => 60_000, 'jobs_max' => 1, 'topics' => ['t']]);
        $session->step($server->clock->nowMs() + 1000);
        $session->step($server->clock->nowMs() + 1000);
        $client->close();
        self::assertSame([], $session->await($call)['jobs']);
    }
}
