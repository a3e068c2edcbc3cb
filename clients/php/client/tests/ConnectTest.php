<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\SessionTaken;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Protocol\Opcode;
use PHPUnit\Framework\TestCase;

/** How a client finds its server, and comes back to it, against servers that do what a script says. */
final class ConnectTest extends TestCase
{
    public function testAMemberThatIsSilentLeavesTimeForTheOthers(): void
    {
        $silent = new ScriptedServer(self::silent(...));
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->error($peer->next()->requestId, 36);
            $peer->next();
        });
        $client = new Client(new Options([$silent->address(), $server->address()], connectTimeoutMs: 2000, requestTimeoutMs: 1500));
        $this->expectException(NotFound::class);
        $client->get(1);
    }

    public function testAFirstPushReachesTheMemberThatAnswers(): void
    {
        $silent = new ScriptedServer(self::silent(...));
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->pushed($peer->next(), 5);
            $peer->next();
        });
        $client = new Client(new Options([$silent->address(), $server->address()], connectTimeoutMs: 800));
        self::assertSame(5, $client->push('t', 'x')->job, 'The silent member has it, too, and the key tells that it is the same.');
    }

    public function testAMemberThatNeedsMoreThanItsShareOfTheTimeGetsItInTheNextRound(): void
    {
        $silent = new ScriptedServer(self::silent(...));
        $slow = new ScriptedServer(static function (Listener $listener): void {
            // The first HELLO gets no answer.
            $given = $listener->accept();
            $peer = $listener->accept();
            $peer->greet();
            $peer->error($peer->next()->requestId, 36);
            $peer->next();
        });
        $client = new Client(new Options([$silent->address(), $slow->address()], connectTimeoutMs: 400));
        $this->expectException(NotFound::class);
        $client->get(1);
    }

    public function testASessionThatWasTakenOverIsNotTakenBack(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $push = $peer->next();
            $peer->next();
            $peer->send(Opcode::GoingAway, 0, ['message' => 'taken', 'reason' => 3]);
            $peer->send(Opcode::GoingAway, 0, ['message' => 'stops', 'reason' => 1]);
            $peer->pushed($push, 4);
            $peer->close();
            $listener->report($listener->accept()->next()?->opcode->name);
        });
        $client = new Client($server->address());
        $jobs = [(new NewJob('x'))->fields($client->options()->codec)];
        $push = $client->session()->submit(Opcode::Push, ['sequence' => null, 'topic' => 't', 'jobs' => $jobs]);
        try {
            $client->get(1);
            self::fail('The session was taken.');
        } catch (SessionTaken) {
            self::assertSame(4, $push->answer['results'][0]['job'], 'A server answers what it has accepted.');
            $this->expectException(SessionTaken::class);
            $client->get(2);
        }
    }

    public function testAHelloOfItsOwnThatArrivesLateDoesNotEndTheClient(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $taken = ['message' => 'taken', 'reason' => 3];
            $peer = $listener->accept();
            $peer->greet();
            $listener->report($peer->next()->fields['sequence']);
            $peer->close();
            // This HELLO gets no answer.
            $peer = $listener->accept();
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            $listener->report($peer->next()->fields['sequence']);
            $peer->send(Opcode::GoingAway, 0, $taken);
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            $push = $peer->next();
            $listener->report($push->fields['sequence']);
            $peer->pushed($push, 42);
            $peer->next();
            $peer->send(Opcode::GoingAway, 0, $taken);
            $peer->close();
        });
        $client = new Client($server->address());
        $client->session()->open();
        $client->session()->step($client->session()->clock->nowMs() + 10_000);
        self::assertTrue($client->isConnected());
        self::assertSame(42, $client->push('t', 'x')->job);
        self::assertSame([1, 1, 1], [$server->report(), $server->report(), $server->report()]);
        $this->expectException(SessionTaken::class);
        $client->get(1);
    }

    public function testAHelloWhoseWaitASignalHandlerEndedMayArriveLate(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->next();
            $peer->close();
            $given = $listener->accept();
            $given->next();
            posix_kill(posix_getppid(), SIGUSR1);
            $given->next();
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            $peer->next();
            $peer->send(Opcode::GoingAway, 0, ['message' => 'taken', 'reason' => 3]);
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            while (($request = $peer->next()) !== null) {
                $peer->error($request->requestId, 36);
            }
        });
        $client = new Client($server->address());
        $wereAsync = pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, static fn () => throw new \DomainException('A signal came.'));
        try {
            $client->get(1);
            self::fail('The handler throws.');
        } catch (\DomainException) {
            $this->expectException(NotFound::class);
            $client->get(1);
        } finally {
            pcntl_signal(SIGUSR1, SIG_DFL);
            pcntl_async_signals($wereAsync);
        }
    }

    public function testAHelloThatWasGivenUpCannotTakeANewSessionOver(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['session' => 10]);
            $peer->next();
            $peer->send(Opcode::GoingAway, 0, ['message' => 'taken', 'reason' => 3]);
            $peer->close();
        });
        $this->expectException(SessionTaken::class);
        (new Client($server->address()))->get(1);
    }

    /** Takes connections and never says anything. */
    private static function silent(Listener $listener): void
    {
        for ($open = []; true;) {
            $open[] = $listener->accept();
        }
    }
}
