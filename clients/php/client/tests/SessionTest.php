<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Attributes;
use Adjourn\Client;
use Adjourn\Error\ClosedError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\Server\Busy;
use Adjourn\Error\Server\Unauthenticated;
use Adjourn\Error\TimeoutError;
use Adjourn\Error\WrongQueue;
use Adjourn\Filter;
use Adjourn\JobEdit;
use Adjourn\JobRef;
use Adjourn\JobState;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Tests\Protocol\ServerCodec;
use Adjourn\Protocol\Opcode;
use PHPUnit\Framework\TestCase;

/** A session against a server that misbehaves as a script says. */
final class SessionTest extends TestCase
{
    public function testAWebRequestNeedsNoSessionAndOneRoundTrip(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            [$hello, $push] = array_map(ServerCodec::decode(...), $peer->frames(fread($peer->stream, 65_536)));
            $listener->report([$hello->opcode->name, $hello->fields['options'] & 2, $hello->fields['session']]);
            $listener->report([$push->opcode->name, $push->fields['sequence'], strlen($push->fields['idempotency'])]);
            $peer->welcomeTo($hello);
            $peer->pushed($push);
            $listener->report($peer->next() === null);
        });
        $client = new Client($server->address());
        self::assertSame(1, $client->push('t', 'x')->job);
        unset($client);
        self::assertSame(['Hello', 2, 0], $server->report());
        self::assertSame(['Push', 0, 16], $server->report());
        self::assertTrue($server->report(), 'There is nothing to say goodbye to.');
    }

    public function testAPushWithoutASessionIsRepeatedUnderItsKeyWithTheNextHello(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $keys = [];
            for ($n = 0; $n < 3; ++$n) {
                $peer = $listener->accept();
                $hello = $peer->next();
                $n === 0 || $peer->welcomeTo($hello);
                $push = $peer->next();
                $keys[] = bin2hex($push->fields['idempotency']);
                $headers[] = Attributes::decode($push->fields['jobs'][0]['attributes'])->headers['traceparent'];
                $n === 2 ? $peer->pushed($push, 4) : $peer->close();
            }
            $listener->report([count(array_unique($keys)), $headers]);
            $peer->next();
        });
        $client = new Client(new Options($server->address(), tracing: new RecordedTracing()));
        self::assertSame(4, $client->push('t', 'x')->job);
        self::assertSame([1, ['0', '0', '0']], $server->report());
    }

    public function testASessionIsOpenedWhenSomethingNeedsIt(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $listener->report($peer->greet()->fields['options'] & 2);
            $peer->pushed($peer->next());
            $listener->report($peer->next() === null);
            $peer = $listener->accept();
            $listener->report($peer->greet()->fields['options'] & 2);
            while (($request = $peer->next()) !== null) {
                $listener->report([$request->opcode->name, $request->fields['sequence'] ?? null]);
                match ($request->opcode) {
                    Opcode::Reserve => $peer->send(Opcode::Reserved, $request->requestId, ['jobs' => []]),
                    Opcode::Push => $peer->pushed($request),
                    default => $peer->send(Opcode::Done, $request->requestId),
                };
            }
        });
        $client = new Client($server->address());
        $client->push('t', 'x');
        self::assertSame([], $client->reserve('t'));
        $client->push('t', 'y');
        unset($client);
        self::assertSame([2, true, 0], [$server->report(), $server->report(), $server->report()]);
        self::assertSame([['Reserve', null], ['Push', 1], ['Goodbye', null]], [$server->report(), $server->report(), $server->report()]);
    }

    public function testManyPushesAreNumbered(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            while (true) {
                $peer = $listener->accept();
                $peer->greet();
                while (($push = $peer->next()) !== null && $push->opcode === Opcode::Push) {
                    $listener->report($push->fields['sequence']);
                    $peer->pushed($push);
                }
            }
        });
        $client = new Client($server->address());
        $client->pushMany('t', array_fill(0, 1024, new NewJob('x')));
        $client->push('t', 'one more');
        self::assertSame([0, 1], [$server->report(), $server->report()]);
    }

    public function testHelloAndTheFirstPushGoInOnePacketAndTheEndSaysGoodbye(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $first = fread($peer->stream, 65_536);
            $names = [];
            foreach ($peer->frames($first) as $frame) {
                $message = ServerCodec::decode($frame);
                $names[] = $message->opcode->name;
                $message->opcode === Opcode::Hello
                    ? $peer->send(Opcode::Welcome, $message->requestId, Peer::welcome())
                    : $peer->pushed($message);
            }
            $listener->report($names);
            $bye = $peer->next();
            $listener->report($bye->opcode->name);
            $peer->send(Opcode::Done, $bye->requestId);
        });
        $client = new Client($server->address());
        $client->session()->open();
        self::assertSame(1, $client->push('t', 'x')->job);
        unset($client);
        self::assertSame(['Hello', 'Push'], $server->report());
        self::assertSame('Goodbye', $server->report());
    }

    public function testAFrameMayComeByteByByte(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $hello = $peer->next();
            foreach (str_split(ServerCodec::encode(Opcode::Welcome, $hello->requestId, Peer::welcome())) as $byte) {
                $peer->raw($byte);
                usleep(200);
            }
            $push = $peer->next();
            $peer->pushed($push, 77);
            $peer->next();
        });
        self::assertSame(77, (new Client($server->address()))->push('t', 'x')->job);
    }

    public function testALostPushIsRepeatedUnderItsNumbersAndNewOnesFollow(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $listener->report($peer->next()->fields['sequence']);
            $peer->close();
            $peer = $listener->accept();
            $hello = $peer->greet(['marks' => 1]);
            $listener->report([$hello->fields['session'], $hello->fields['secret'] === str_repeat('s', 16)]);
            for ($n = 0; $n < 2; ++$n) {
                $push = $peer->next();
                $listener->report([$push->fields['sequence'], $push->fields['jobs'][0]['body']]);
                $peer->pushed($push, 5 + $n);
            }
            $peer->next();
        });
        $client = new Client($server->address());
        // The session has to be known before the loss: a numbered PUSH in the packet of HELLO cannot be repeated.
        $client->session()->open();
        $client->session()->submit(Opcode::Ping);
        $client->session()->step($client->session()->clock->nowMs() + 1000);
        self::assertSame(5, $client->pushMany('t', [new NewJob('a'), new NewJob('b')])[0]->job);
        self::assertSame(6, $client->push('t', 'c')->job);
        self::assertSame(1, $server->report());
        self::assertSame([9, true], $server->report());
        self::assertSame([1, 'a'], $server->report());
        self::assertSame([3, 'c'], $server->report());
    }

    public function testAPushWhoseSessionWasForgottenHasAnUnknownOutcome(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->pushed($peer->next());
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['session' => 10]);
            $push = $peer->next();
            $listener->report([$push->fields['sequence'], $push->fields['jobs'][0]['body']]);
            $peer->pushed($push, 8);
            $peer->next();
        });
        $client = new Client($server->address());
        $client->session()->open();
        $client->push('t', 'first');
        try {
            $client->push('t', 'lost');
            self::fail('The outcome is unknown.');
        } catch (OutcomeUnknown $error) {
            self::assertTrue($error->mayBeApplied);
            self::assertFalse($error->isRetryable);
        }
        self::assertSame(8, $client->push('t', 'new')->job);
        self::assertSame([1, 'new'], $server->report(), 'A new session numbers from 1.');
    }

    public function testAPushThatWasLostBeforeAnyWelcomeIsNotRepeated(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->next();
            $listener->report($peer->next()->opcode->name);
            $peer->close();
            $peer = $listener->accept();
            $peer->greet();
            $request = $peer->next();
            $listener->report($request->opcode->name);
            $request->opcode === Opcode::Push ? $peer->pushed($request) : $peer->error($request->requestId, 36);
            $peer->next();
        });
        $client = new Client(new Options($server->address(), requestTimeoutMs: 5000));
        $client->session()->open();
        try {
            $client->push('t', 'once');
            self::fail('The outcome is unknown.');
        } catch (OutcomeUnknown $error) {
            self::assertTrue($error->mayBeApplied);
        }
        self::assertNull($this->notFound(static fn () => $client->get(1)));
        self::assertSame(['Push', 'Get'], [$server->report(), $server->report()]);
    }

    /** @return iterable<string, array{\Closure(Client): mixed}> */
    public static function callsThatMustNotBeRepeated(): iterable
    {
        yield 'a delete by key' => [static fn (Client $c) => $c->delete(JobRef::key('t', 'k'))];
        yield 'a reschedule' => [static fn (Client $c) => $c->reschedule(1, delayMs: 5)];
        yield 'a fill' => [static fn (Client $c) => $c->fillSchedule('t', 'n', new \DateTimeImmutable('@1'), new \DateTimeImmutable('@2'))];
        yield 'an edit' => [static fn (Client $c) => $c->edit(1, new JobEdit(priority: 3))];
        yield 'an edit of a version' => [static fn (Client $c) => $c->edit(1, new JobEdit('x'), ifVersion: 3)];
    }

    /**
     * @dataProvider callsThatMustNotBeRepeated
     * @param \Closure(Client): mixed $call
     */
    public function testWhatMustNotBeRepeatedIsReportedAsUnknown(\Closure $call): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $next = $peer->next();
            $listener->report($next->opcode->name);
            $peer->error($next->requestId, 36);
            $peer->next();
        });
        $client = new Client($server->address());
        try {
            $call($client);
            self::fail('The outcome is unknown.');
        } catch (OutcomeUnknown $error) {
            self::assertTrue($error->mayBeApplied);
        }
        self::assertNull($client->peek('t'));
        self::assertSame('Peek', $server->report());
    }

    public function testADeleteByIdIsRepeated(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $next = $peer->next();
            $peer->send(Opcode::Changed, $next->requestId, ['job' => 4, 'due_ms' => 1, 'state' => 1]);
            $peer->next();
        });
        self::assertSame(4, (new Client($server->address()))->delete(4)->job);
    }

    /** @dataProvider answersToACancel */
    public function testACancelIsRepeatedAndHasAnAnswer(int $code, bool $expected): void
    {
        $server = new ScriptedServer(static function (Listener $listener) use ($code): void {
            $peer = $listener->accept();
            $peer->greet();
            $listener->report($peer->next()->fields['ref']);
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $repeat = $peer->next();
            $listener->report($repeat->fields['ref']);
            $code === 0
                ? $peer->send(Opcode::Changed, $repeat->requestId, ['job' => 7, 'due_ms' => 1, 'state' => 0])
                : $peer->error($repeat->requestId, $code);
            $peer->next();
        });
        self::assertSame($expected, (new Client($server->address()))->cancel('t', 'k'));
        $ref = ['topic' => 't', 'key' => 'k'];
        self::assertSame([$ref, $ref], [$server->report(), $server->report()]);
    }

    /** @return iterable<string, array{int, bool}> */
    public static function answersToACancel(): iterable
    {
        yield 'it is there' => [0, true];
        yield 'its first copy removed it' => [ErrorCode::NotFound->value, false];
    }

    public function testAJobThatASubscriptionHoldsIsGivenBackAtHalfOfItsLease(): void
    {
        $server = TestServer::start();
        [$client, $other] = [new Client($server->address()), new Client($server->address())];
        $client->push('t', new NewJob('x', ttrMs: 1000, attemptsMax: 1));
        $subscription = $client->subscribe('t', 1);
        Eventually::holds(static fn (): bool => $client->count(new Filter('t', [JobState::Reserved])) === 1, 'It is not delivered.');
        // The client works while its caller waits for something else. The job goes to and fro until the other one gets it.
        Eventually::holds(static function () use ($client, $other, &$job): bool {
            $client->ping();

            return ([$job] = $other->reserve('t') ?: [null]) !== [null];
        }, 'It is not given back.');
        self::assertSame(1, $job->attempts);
        $subscription->close();
        $server->kill();
    }

    public function testTheLeaderIsFollowed(): void
    {
        $leader = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->pushed($peer->next(), 3);
            $peer->next();
        });
        $follower = new ScriptedServer(static function (Listener $listener) use ($leader): void {
            $peer = $listener->accept();
            $peer->error($peer->next()->requestId, 16, 1, leader: $leader->address());
            $push = $peer->next();
            $push === null || $peer->error($push->requestId, 16, 1, leader: $leader->address());
            $peer->next();
        });
        self::assertSame(3, (new Client($follower->address()))->push('t', 'x')->job);
    }

    public function testALeaderThatStepsDownIsLeftAndItsPushRepeatedElsewhere(): void
    {
        $next = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $listener->report($peer->greet(['marks' => 3])->fields['session']);
            $push = $peer->next();
            $listener->report($push->fields['sequence']);
            $peer->pushed($push, 4);
            $peer->next();
        });
        $first = new ScriptedServer(static function (Listener $listener) use ($next): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->pushed($peer->next(), 3);
            $push = $peer->next();
            $peer->error($push->requestId, 16, 1, 1, 10, $next->address());
            $peer->send(Opcode::GoingAway, 0, ['message' => 'bye', 'reason' => 2]);
            $peer->next();
        });
        $client = new Client($first->address());
        $client->session()->open();
        self::assertSame(3, $client->push('t', 'a')->job);
        self::assertSame(4, $client->push('t', 'b')->job);
        self::assertSame(9, $next->report());
        self::assertSame(2, $next->report());
    }

    public function testBusyIsRetriedUnderTheSameNumberAndThenToldToTheCaller(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            for ($n = 0; ($push = $peer->next()) !== null; ++$n) {
                $listener->report($push->fields['sequence']);
                $n === 2 ? $peer->pushed($push, 3) : $peer->error($push->requestId, 18, 1, 0, 1);
            }
        });
        $client = new Client(new Options($server->address(), requestTimeoutMs: 1500));
        $client->session()->open();
        self::assertSame(3, $client->push('t', 'x')->job);
        self::assertSame([1, 1, 1], [$server->report(), $server->report(), $server->report()]);
        try {
            $client->push('t', 'y');
            self::fail('The server stays busy.');
        } catch (Busy $error) {
            self::assertTrue($error->isRetryable);
            self::assertFalse($error->mayBeApplied);
        }
    }

    public function testAServerThatIsSilentIsGivenUpAlthoughTheSocketIsOpen(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet(['heartbeat_ms' => 100]);
            while (($message = $peer->next(pongs: false))?->opcode === Opcode::Get || $message?->opcode === Opcode::Ping) {
                $listener->report($message->opcode->name);
            }
            $again = $listener->accept();
            $again->greet(['marks' => 3]);
            $again->error($again->next()->requestId, 36);
            $again->next();
        });
        $client = new Client($server->address());
        self::assertNull($this->notFound(static fn () => $client->get(1)));
        self::assertSame('Get', $server->report());
        self::assertSame('Ping', $server->report());
    }

    public function testHeartbeatsKeepALongPollAliveAndItsWaitIsBounded(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet(['heartbeat_ms' => 100]);
            $reserve = $peer->next();
            for ($pings = 0; $pings < 4; ++$pings) {
                $ping = $peer->next(pongs: false);
                $peer->send(Opcode::Pong, $ping->requestId, ['now' => 1, 'clock_ms' => 1]);
            }
            $peer->send(Opcode::Reserved, $reserve->requestId, ['jobs' => [Peer::delivered(4, 7)]]);
            $listener->report($pings);
            $peer->next();
        });
        $client = new Client($server->address());
        self::assertCount(1, $client->reserve('t', 10_000));
        self::assertSame(4, $server->report());
    }

    public function testAGarbledFrameEndsTheConnectionAndWhatMayBeRepeatedIsSentAgain(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $listener->report($peer->next()->opcode->name);
            $peer->raw("\xff\xff\xff\xff garbage");
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            $count = $peer->next();
            $listener->report($count->opcode->name);
            $peer->send(Opcode::Counted, $count->requestId, ['jobs' => 5]);
            $listener->report($peer->next()->fields['sequence']);
            $peer->raw("\0\0\0\0");
            $peer = $listener->accept();
            $peer->greet(['marks' => 1]);
            $push = $peer->next();
            $listener->report($push->fields['sequence']);
            $peer->pushed($push, 6);
            $peer->next();
        });
        $client = new Client($server->address());
        $client->session()->open();
        self::assertSame(5, $client->count(new Filter('t')));
        self::assertSame(6, $client->push('t', 'x')->job);
        self::assertSame(['Count', 'Count', 1, 1], [$server->report(), $server->report(), $server->report(), $server->report()]);
    }

    public function testAServerWhoseAnswersAreAlwaysGarbledIsAProtocolError(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            while (true) {
                $peer = $listener->accept();
                $peer->greet(['marks' => 3]);
                $listener->report($peer->next()->opcode->name);
                $peer->raw("\xff\xff\xff\xff");
                $peer->next();
            }
        });
        $client = new Client($server->address());
        foreach ([fn () => $client->count(new Filter('t')), fn () => $client->kick(4), fn () => $client->advance(5)] as $call) {
            try {
                $call();
                self::fail('No answer can be read.');
            } catch (ProtocolError $error) {
                self::assertTrue($error->mayBeApplied);
            }
        }
        $client->close();
        $sent = array_map(static fn (): string => $server->report(), range(1, 5));
        self::assertSame(['Count', 'Count', 'Count', 'Kick', 'Advance'], $sent, 'KICK and ADVANCE must not be repeated.');
    }

    public function testUnknownResponsesAndRequestIdsAreIgnored(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $push = $peer->next();
            $peer->raw(pack('VCx3V', 12, 0xC9, 5) . 'what');
            $peer->send(Opcode::Done, 4_000_000);
            $peer->pushed($push, 6);
            $peer->next();
        });
        self::assertSame(6, (new Client($server->address()))->push('t', 'x')->job);
    }

    public function testAnAnswerOfTheWrongKindOrLengthIsAnError(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->send(Opcode::Done, $peer->next()->requestId);
            $push = $peer->next();
            $peer->send(Opcode::Pushed, $push->requestId, ['results' => []]);
            $peer->next();
        });
        $client = new Client($server->address());
        foreach (['a', 'b'] as $body) {
            try {
                $client->push('t', $body);
                self::fail('The answer fits no push.');
            } catch (ProtocolError $error) {
                self::assertTrue($error->mayBeApplied);
            }
        }
    }

    public function testNobodyThereIsAConnectionErrorAtOnce(): void
    {
        $start = hrtime(true);
        $client = new Client('127.0.0.1:' . TestServer::freePort());
        try {
            $client->push('t', 'x');
            self::fail('Nobody is there.');
        } catch (ConnectionError $error) {
            self::assertTrue($error->isRetryable);
            self::assertFalse($error->mayBeApplied);
        }
        self::assertLessThan(2000, (hrtime(true) - $start) / 1e6);
    }

    public function testAServerThatNeverAnswersHelloTimesOut(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->next();
            $peer->next(false);
        });
        $client = new Client(new Options($server->address(), connectTimeoutMs: 200));
        $this->expectException(ConnectionError::class);
        $client->get(1);
    }

    public function testACallHasADeadlineAndAChangeWithoutAnAnswerIsUnknown(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            while ($peer->next() !== null);
        });
        $client = new Client(new Options($server->address(), requestTimeoutMs: 200));
        try {
            $client->get(1);
            self::fail('No answer comes.');
        } catch (TimeoutError $error) {
            self::assertFalse($error->mayBeApplied);
        }
        $this->expectException(OutcomeUnknown::class);
        $client->runNow(1);
    }

    public function testAnotherQueueAtTheSameAddressIsRefused(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->pushed($peer->next());
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['cluster_id' => str_repeat('d', 16)]);
            $peer->next();
        });
        $client = new Client($server->address());
        $client->push('t', 'x');
        $this->expectException(WrongQueue::class);
        $client->get(1);
    }

    public function testAWrongTokenIsTold(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $hello = $peer->next();
            $listener->report($hello->fields['token']);
            $peer->error($hello->requestId, 4);
            $peer->close();
        });
        $client = new Client(new Options($server->address(), token: 'sesame'));
        try {
            $client->push('t', 'x');
            self::fail('The token is wrong.');
        } catch (Unauthenticated) {
            self::assertSame('sesame', $server->report());
        }
    }

    public function testLeasesThatNeverCameAreGivenBackAfterAResume(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            $peer->send(Opcode::Reserved, $peer->next()->requestId, ['jobs' => [Peer::delivered(4, 7)]]);
            $peer->next();
            $peer->close();
            $peer = $listener->accept();
            $peer->greet(['marks' => 3]);
            $leases = $peer->next();
            $listener->report($leases->opcode->name);
            $reserve = $peer->next();
            $peer->send(Opcode::Leased, $leases->requestId, ['marks' => 0, 'jobs' => [Peer::delivered(4, 7), Peer::delivered(5, 8)]]);
            $release = $peer->next();
            $listener->report([$release->opcode->name, $release->fields['delay_ms'], $release->fields['leases']]);
            $peer->send(Opcode::Reserved, $reserve->requestId, ['jobs' => [Peer::delivered(6, 9)]]);
            $peer->next();
        });
        $client = new Client(new Options($server->address(), leasesOutlive: false));
        self::assertCount(1, $client->reserve('t', 1000));
        self::assertSame(6, $client->reserve('t', 5000)[0]->id);
        self::assertSame('Leases', $server->report());
        self::assertSame(['Release', -2, [['job' => 5, 'fence' => 8]]], $server->report());
    }

    public function testNothingCanBeCalledAfterClose(): void
    {
        $client = new Client('127.0.0.1:1');
        $client->close();
        $client->close();
        $this->expectException(ClosedError::class);
        $client->push('t', 'x');
    }

    private function notFound(callable $call): mixed
    {
        try {
            return $call();
        } catch (\Adjourn\Error\Server\NotFound) {
            return null;
        }
    }
}
