<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\Server\Unauthenticated;
use Adjourn\Filter;
use Adjourn\LeaseEnd;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Opcode;
use PHPUnit\Framework\TestCase;

/** Real servers that are killed, restarted and cut off. */
final class ResilienceTest extends TestCase
{
    /** @dataProvider ends */
    public function testAServerMayBeRestarted(string $how): void
    {
        $server = TestServer::start();
        $client = new Client($server->address());
        $client->push('t', 'before');
        [$job] = $client->reserve('t', 5000);
        $session = $client->session()->welcome()->session;
        $server->$how();
        $server->run(waits: false);
        $client->push('t', 'after');
        $job->finish();
        self::assertTrue($client->session()->welcome()->isResumed);
        self::assertSame($session, $client->session()->welcome()->session);
        self::assertSame(['after'], array_map(static fn ($j) => $j->body, iterator_to_array($client->list(new Filter('t'), withBodies: true))));
    }

    public static function ends(): array
    {
        return ['kill -9' => ['kill'], 'SIGTERM' => ['terminate']];
    }

    public function testEachJobIsPushedOnceThoughEachAnswerIsLostOnce(): void
    {
        $server = TestServer::start();
        $port = $server->port;
        $proxy = new ScriptedServer(static function (Listener $listener) use ($port): void {
            // The connection is cut each time that a second PUSHED would go by. A repeat is answered.
            while (true) {
                $pushed = 0;
                $listener->forward($port, static function (string $frame) use (&$pushed): ?bool {
                    $isPushed = Codec::decode($frame)?->opcode === Opcode::Pushed;

                    return $isPushed && ++$pushed === 2 ? null : true;
                });
            }
        });
        $client = new Client($proxy->address());
        for ($n = 0; $n < 8; ++$n) {
            $client->push('t', "$n");
        }
        $listed = (new Client($server->address()))->list(new Filter('t'), \Adjourn\ListOrder::Id, true);
        self::assertSame(range(0, 7), array_map(static fn ($job): int => (int) $job->body, iterator_to_array($listed, false)));
    }

    public function testALongPollGoesOnAfterARestart(): void
    {
        $server = TestServer::start();
        $client = new Client($server->address());
        $client->push('t', 'x', delayMs: 1500);
        [$child] = Processes::fork(static function () use ($server): void {
            posix_kill($server->pid(), SIGKILL);
        });
        Processes::wait($child);
        $server->kill();
        $server->run(waits: false);
        self::assertCount(1, $client->reserve('t', 10_000));
    }

    public function testASubscriptionIsMadeAnewAfterARestart(): void
    {
        $server = TestServer::start();
        $client = new Client($server->address());
        $client->push('t', 'a');
        $subscription = $client->subscribe('t', 4);
        self::assertTrue($subscription->stands());
        $subscription->next(5000)->finish();
        $server->kill();
        $server->run(waits: false);
        $client->push('t', 'b');
        self::assertSame('b', $subscription->next(10_000)->body);
        $client->push('t', 'c');
        $client->push('t', 'd');
        $subscription->next(5000);
        $subscription->close();
        $attempts = array_map(static fn ($job): int => $job->attempts, iterator_to_array($client->list(new Filter('t')), false));
        sort($attempts);
        self::assertSame([0, 1, 1], $attempts, 'What was not handed out is given back without an attempt.');
    }

    public function testTheLeasesOfASessionAreLostAfterItsGraceUnlessTheyOutliveIt(): void
    {
        $server = TestServer::start(['--session-grace-ms', '600', '--heartbeat-ms', '200']);
        $bound = new Client(new Options($server->address(), leasesOutlive: false));
        $outliving = new Client(new Options($server->address(), heartbeatMs: 200));
        $bound->pushMany('t', [new NewJob('a'), new NewJob('b')]);
        [$lost] = $bound->reserve('t', 5000);
        [$kept] = $outliving->reserve('t', 5000);
        // The handlers block for longer than two heartbeats and the grace.
        Eventually::holds(static function () use ($bound): bool {
            $bound->session()->leases->presume($bound->session()->clock->nowMs());

            return $bound->session()->leases->areLost();
        }, 'The leases are not presumed lost.');
        self::assertSame(LeaseEnd::PresumedLost, $lost->end());
        usleep(1_000_000);
        self::assertFalse($kept->isLost());
        $kept->finish();
        self::assertSame('a', (new Client($server->address()))->reserve('t', 5000)[0]->body);
    }

    public function testAChildHasASessionOfItsOwnAndSaysNoGoodbyeForItsParent(): void
    {
        $server = TestServer::start();
        $client = new Client(new Options($server->address(), leasesOutlive: false));
        $client->push('t', 'parent');
        [$job] = $client->reserve('t', 5000);
        $session = $client->session()->welcome()->session;
        [$child, $said] = Processes::fork(static function (callable $say) use ($client): void {
            $client->push('t', 'child');
            $say($client->session()->welcome()->session);
            $client->close();
        });
        $other = Processes::said($said);
        Processes::wait($child);
        self::assertIsInt($other);
        self::assertNotSame($session, $other);
        // A GOODBYE of the child for this session would have ended the lease.
        $job->finish();
        $client->push('t', 'parent again');
        self::assertSame($session, $client->session()->welcome()->session);
        self::assertSame(2, $client->count(new Filter('t')));
    }

    public function testTokens(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'adjourn-tokens');
        $hash = hash('sha256', 'sesame');
        file_put_contents($file, "[[token]]\nname = 'shop'\nsha256 = '$hash'\nallow = ['push']\n");
        $server = TestServer::start(['--tokens-file', $file]);
        unlink($file);
        self::assertSame(1, (new Client(new Options($server->address(), token: 'sesame')))->push('t', 'x')->job);
        $this->expectException(Unauthenticated::class);
        (new Client(new Options($server->address(), token: 'guess')))->push('t', 'x');
    }

    public function testAFailoverLosesNothingAndDoublesNothing(): void
    {
        $ports = array_map(static fn (): int => TestServer::freePort(), range(1, 6));
        $nodes = [];
        foreach ([0, 1, 2] as $n) {
            $flags = ['--node', (string) ($n + 1), '--peer-listen', "127.0.0.1:{$ports[$n + 3]}"];
            array_push($flags, ...($n > 0 ? ['--join', "127.0.0.1:{$ports[3]}"] : ['--found']));
            $nodes[$n + 1] = TestServer::start($flags, $ports[$n]);
        }
        $client = new Client(new Options($nodes[1]->address()));
        foreach ([2, 3] as $n) {
            $client->clusterAdd("127.0.0.1:{$ports[$n + 2]}");
        }
        Eventually::holds(static function () use ($client): bool {
            $roles = array_map(static fn ($m) => $m->role->name, $client->clusterStatus()->members);

            return count($roles) === 3 && !in_array('Learner', $roles, true);
        }, 'Not all vote.');
        for ($n = 0; $n < 10; ++$n) {
            $client->push('t', "$n");
        }
        [$job] = $client->reserve('t', 5000);
        $nodes[1]->kill();
        for (; $n < 20; ++$n) {
            $client->push('t', "$n");
        }
        $job->finish();
        $bodies = array_map(static fn ($j): int => (int) $j->body, iterator_to_array($client->list(new Filter('t'), \Adjourn\ListOrder::Id, true), false));
        self::assertSame(range(1, 19), $bodies);
        self::assertNotSame(1, $client->clusterStatus()->leader);
        self::assertTrue($client->session()->welcome()->isResumed);
    }
}
