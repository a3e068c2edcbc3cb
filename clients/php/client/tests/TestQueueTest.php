<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Backoff;
use Adjourn\Client;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\Server\NotFound;
use Adjourn\Error\UsageError;
use Adjourn\JobReport;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Testing\Duration;
use Adjourn\Testing\NoServer;
use Adjourn\Testing\Server;
use Adjourn\Testing\TestQueue;
use Adjourn\Testing\WithAdjourn;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\ExpectationFailedException;
use PHPUnit\Framework\TestCase;

/** What users get for tests of their code. */
final class TestQueueTest extends TestCase
{
    use WithAdjourn;

    private string|false $binary;
    private string|false $path;

    protected function setUp(): void
    {
        [$this->binary, $this->path] = [getenv('ADJOURN_BIN'), getenv('PATH')];
    }

    protected function tearDown(): void
    {
        putenv($this->binary === false ? 'ADJOURN_BIN' : "ADJOURN_BIN=$this->binary");
        putenv("PATH=$this->path");
    }

    public function testTheClockStandsStillUntilTheTestMovesIt(): void
    {
        $queue = $this->adjourn();
        $start = $queue->now();
        self::assertEqualsWithDelta(microtime(true), (float) $start->format('U.u'), 60);
        $client = new Client($queue->address);
        $client->push('trials', 'end it', delayMs: 900_000);
        self::assertSame([], $client->reserve('trials'));
        self::assertEquals($start->modify('+10 minutes'), $queue->advance('10m'));
        self::assertEquals($start->modify('+11 minutes'), $queue->advance(new \DateInterval('PT1M')));
        self::assertSame([], $client->reserve('trials'));
        self::assertEquals($start->modify('+15 minutes'), $queue->advanceToNext());
        self::assertSame('end it', $client->reserve('trials')[0]->body);
        self::assertEquals($start->modify('+15 minutes'), $queue->now());
        $this->expectException(NotFound::class);
        $queue->advanceToNext();
    }

    public function testATestWithItsOwnQueueSharesNothing(): void
    {
        $this->adjourn()->client->push('t', 'x', key: 'k');
        $other = new TestQueue();
        $other->client->push('t', 'x', key: 'k');
        $other->advance('1d');
        self::assertLessThan($other->now(), $this->adjourn()->now());
        self::assertCount(1, $other->jobs('t'));
        self::assertSame($this->adjourn(), $this->adjourn());
    }

    public function testPushed(): void
    {
        $client = $this->adjourn()->client;
        $client->push('emails', ['to' => 'ann@example.com'], delayMs: 900_000, key: 'order-17');
        $this->assertPushed('emails');
        $this->assertPushed('emails', static fn (JobReport $job): bool => $job->payload() === ['to' => 'ann@example.com']
            && $job->key === 'order-17' && $job->delayMs() === 900_000);
        $this->assertNotPushed('emails', static fn (JobReport $job): bool => $job->key === 'order-18');
        $this->assertNotPushed('invoices');
        $this->fails('No job was pushed to "invoices".', fn () => $this->assertPushed('invoices'));
        $this->fails('with key "order-17": Delayed, due in 15m, body "{\"to\":', fn () => $this->assertPushed('emails', static fn (): bool => false));
        $this->fails('with key "order-17"', fn () => $this->assertNotPushed('emails'));
        $this->fails('with key "order-17"', fn () => $this->assertNotPushed('emails', static fn (JobReport $job): bool => $job->key === 'order-17'));
    }

    public function testPushedWhateverBecameOfIt(): void
    {
        $client = $this->adjourn()->client;
        $client->setTopic('kept', new TopicPolicy(rememberMs: 60_000));
        foreach (['kept', 'gone', 'buried'] as $topic) {
            $client->push($topic, $topic);
            [$job] = $client->reserve($topic);
            $topic === 'buried' ? $job->bury() : $job->finish();
            $this->assertPushed($topic);
            $this->fails('', fn () => $this->assertNotPushed($topic));
        }
        $this->assertPushed('kept', static fn (JobReport $job): bool => $job->body === 'kept');
        $this->assertPushed('buried', static fn (JobReport $job): bool => $job->body === 'buried');
        foreach (['kept', 'buried'] as $topic) {
            $this->assertNotPushed($topic, static fn (JobReport $job): bool => $job->body === 'other');
        }
        $client->push('gone', 'still there', delayMs: 1000);
        $says = '2 were pushed to "gone", and 1 have left it';
        $this->fails($says, fn () => $this->assertNotPushed('gone', static fn (JobReport $job): bool => $job->body === 'gone'));
        $this->assertNotPushed('never', static fn (): bool => true);
        $client->delete($this->adjourn()->jobs('gone')[0]->id);
        $this->fails('2 were pushed. There are none.', fn () => $this->assertPushed('gone', static fn (): bool => true));
    }

    public function testATopicWithoutJobsIsForgottenAfterTenMinutesUnlessItHasSettings(): void
    {
        $client = $this->adjourn()->client;
        $client->setTopic('set', new TopicPolicy(priority: 7));
        foreach (['set', 'bare'] as $topic) {
            $client->push($topic, 'x');
            $client->reserve($topic)[0]->finish();
        }
        $this->adjourn()->advance('9m');
        $client->push('others', 'x');
        $this->assertPushed('bare');
        $this->adjourn()->advance('1m');
        $client->push('others', 'y');
        $this->assertPushed('set');
        $this->assertNotPushed('bare');
    }

    public function testPending(): void
    {
        $client = $this->adjourn()->client;
        $client->pushMany('reminders', [new NewJob('b', delayMs: 86_400_000), new NewJob('a', delayMs: 900_000), new NewJob('now')]);
        $client->push('reminders', 'at', at: $this->adjourn()->now()->modify('+90 minutes'));
        $this->assertPending('reminders', [0, '15m', '1h 30m', new \DateInterval('P1D')]);
        self::assertSame(['now', 'a', 'at', 'b'], array_column($this->adjourn()->pending('reminders'), 'body'));
        $this->adjourn()->advance('15m');
        $this->assertPending('reminders', [0, 0, '75m', '23h 45m']);
        $this->assertPending('others', []);
        $this->fails('due in 1h 15m, body "at"', fn () => $this->assertPending('reminders', []));
        [$job] = $client->reserve('reminders');
        $this->assertPending('reminders', [0, '75m', '23h 45m']);
        $job->finish();
    }

    public function testNothingLeft(): void
    {
        $client = $this->adjourn()->client;
        $this->assertNothingLeft();
        $client->push('t', new NewJob('x', attemptsMax: 1, backoff: Backoff::fixed(0)));
        $this->fails('of "t": Ready, due, body "x"', $this->assertNothingLeft(...));
        [$job] = $client->reserve('t');
        $this->fails('of "t": Reserved', $this->assertNothingLeft(...));
        $job->release(reason: 'no luck');
        $this->fails('of "t": Buried', $this->assertNothingLeft(...));
        $client->delete($job->id);
        $this->assertNothingLeft();
    }

    public function testAStoppedQueueCannotBeReached(): void
    {
        $queue = $this->adjourn();
        $queue->client->push('t', 'x');
        $queue->stop();
        $queue->stop();
        $this->expectException(ConnectionError::class);
        (new Client(new Options($queue->address, requestTimeoutMs: 50)))->push('t', 'x');
    }

    public function testTheServerEndsWithTheProcessAlsoBySigkill(): void
    {
        $address = self::ofKilledProcess(static fn (callable $say, TestQueue $queue) => $say($queue->address));
        self::assertEnds($address);
    }

    public function testProgramsThatTheProcessHasStartedDoNotLetTheServerLive(): void
    {
        $programs = [];
        [$address, $program] = self::ofKilledProcess(static function (callable $say, TestQueue $queue) use (&$programs): void {
            $programs = [proc_open(['sleep', '60'], [], $pipes), popen('exec sleep 60', 'r')];
            $say([$queue->address, proc_get_status($programs[0])['pid']]);
        });
        self::assertEnds($address);
        posix_kill($program, SIGKILL);
    }

    public function testTheServerEndsWithAnErrorOfPhpThoughAChildHasItsPipe(): void
    {
        $script = '<?php require ' . var_export(__DIR__ . '/bootstrap.php', true) . <<<'PHP'
            ;
            $queue = new Adjourn\Testing\TestQueue();
            if (pcntl_fork() === 0) {
                echo json_encode([$queue->address, getmypid()]), "\n";
                sleep(60);
            }
            ini_set('display_errors', '0');
            ini_set('memory_limit', '16M');
            str_repeat('x', 1 << 30);
            PHP;
        $process = proc_open([PHP_BINARY], [['pipe', 'r'], ['pipe', 'w'], ['file', '/dev/null', 'w']], $pipes);
        fwrite($pipes[0], $script);
        fclose($pipes[0]);
        [$address, $child] = json_decode(fgets($pipes[1]), true);
        self::assertSame(255, proc_close($process));
        self::assertEnds($address);
        posix_kill($child, SIGKILL);
    }

    public function testAChildThatHasLeftTheQueueDoesNotLetTheServerLive(): void
    {
        [$address, $child] = self::ofKilledProcess(static function (callable $say, TestQueue $queue): void {
            if (pcntl_fork() === 0) {
                $queue->stop();
                $say([$queue->address, getmypid()]);
                sleep(60);
            }
        });
        self::assertEnds($address);
        posix_kill($child, SIGKILL);
    }

    public function testTheServerEndsThoughAChildHasItsPipe(): void
    {
        $queue = new TestQueue();
        [$child, $said] = Processes::fork(static function (callable $say) use ($queue): void {
            $say('runs');
            // As the end of a test does that a child inherits.
            $queue->stop();
            $say('has left the queue to its parent');
            sleep(60);
        });
        self::assertSame('runs', Processes::said($said));
        self::assertSame('has left the queue to its parent', Processes::said($said));
        $queue->client->push('t', 'x');
        $queue->stop();
        self::assertEnds($queue->address);
        posix_kill($child, SIGKILL);
        Processes::wait($child);
    }

    public function testASignalToTheProcessGroupDoesNotLetTheServerLive(): void
    {
        foreach ([SIGHUP, SIGINT, SIGTERM] as $signal) {
            [$child, $said] = Processes::fork(static function (callable $say) use ($signal): void {
                posix_setpgid(0, 0);
                // `nohup` and the background of a shell ignore some.
                pcntl_signal($signal, SIG_DFL);
                $queue = new TestQueue();
                $say($queue->address);
                sleep(60);
            });
            $address = Processes::said($said);
            posix_kill(-$child, $signal);
            Processes::wait($child);
            self::assertEnds($address);
        }
    }

    public function testSettingsForAnotherServerDoNotReachIt(): void
    {
        $program = self::serverThatTellsItsEnvironment();
        try {
            putenv("ADJOURN_BIN=$program");
            putenv('ADJOURN_LISTEN=127.0.0.1:7440');
            putenv('SHOP_OF_TEST=7');
            (new Server())->stop();
            $environment = file("$program.env", FILE_IGNORE_NEW_LINES);
        } finally {
            putenv('ADJOURN_LISTEN');
            putenv('SHOP_OF_TEST');
            array_map(unlink(...), glob("$program*"));
        }
        self::assertSame([], array_filter($environment, static fn (string $line): bool => str_starts_with($line, 'ADJOURN_')));
        self::assertContains('SHOP_OF_TEST=7', $environment);
        self::assertContains("PATH=$this->path", $environment);
    }

    public function testWithoutAServerTheErrorSaysWhatToDo(): void
    {
        putenv('ADJOURN_BIN=/no/such/file');
        self::assertSame('ADJOURN_BIN names /no/such/file, which is no program.', self::startFails());
        putenv('ADJOURN_BIN=/bin/false');
        self::assertStringContainsString('The server did not start. It takes an Adjourn that knows --end-with-stdin.', self::startFails());
        putenv('ADJOURN_BIN');
        putenv('PATH=/no/such/folder');
        self::assertStringContainsString('install adjourn so that it is in PATH, or set ADJOURN_BIN', self::startFails());
    }

    public function testTheServerIsFoundInPath(): void
    {
        $folder = sys_get_temp_dir() . '/adjourn-php-' . bin2hex(random_bytes(4));
        mkdir($folder);
        symlink(realpath(Repository::server()), "$folder/adjourn");
        try {
            putenv('ADJOURN_BIN');
            putenv("PATH=$folder:$this->path");
            $this->adjourn()->client->push('t', 'x');
            $this->assertPushed('t');
        } finally {
            unlink("$folder/adjourn");
            rmdir($folder);
        }
    }

    public function testDurations(): void
    {
        $texts = ['0s' => 0, '500ms' => 500, '10s' => 10_000, '15m' => 900_000, '1h 30m' => 5_400_000, '2d' => 172_800_000, '1d 1ms' => 86_400_001];
        foreach ($texts as $text => $ms) {
            self::assertSame([$ms, $text], [Duration::ms($text), Duration::text($ms)]);
        }
        self::assertSame(5_400_000, Duration::ms('1h30m'));
        self::assertSame(5_400_000, Duration::ms(new \DateInterval('PT90M')));
        foreach (['', '15', 'm', '15 m', '1x', '-1m', "1m\n"] as $text) {
            try {
                Duration::ms($text);
                self::fail("\"$text\" is no duration.");
            } catch (UsageError $error) {
                self::assertStringContainsString('write 15m', $error->getMessage());
            }
        }
    }

    /**
     * What a process says that has a queue, and that SIGKILL has ended.
     *
     * @param \Closure(callable, TestQueue): mixed $code
     */
    private static function ofKilledProcess(\Closure $code): mixed
    {
        [$child, $said] = Processes::fork(static function (callable $say) use ($code): void {
            $queue = new TestQueue();
            $code($say, $queue);
            sleep(60);
        });
        $what = Processes::said($said);
        posix_kill($child, SIGKILL);
        Processes::wait($child);

        return $what;
    }

    private static function assertEnds(string $address): void
    {
        $socket = str_replace('adjourn://', 'tcp://', $address);
        Eventually::holds(static fn (): bool => @stream_socket_client($socket, timeout: 1) === false, 'The server runs on.');
        self::assertFalse(@stream_socket_client($socket, timeout: 1));
    }

    /** A program in place of the server that writes its environment to a file beside it. */
    private static function serverThatTellsItsEnvironment(): string
    {
        $program = sys_get_temp_dir() . '/adjourn-php-' . bin2hex(random_bytes(4));
        file_put_contents($program, <<<'SH'
            #!/bin/sh
            env >"$0.env"
            echo '{"listen":"127.0.0.1:1"}'
            SH);
        chmod($program, 0o755);

        return $program;
    }

    private static function startFails(): string
    {
        try {
            new TestQueue();
        } catch (NoServer $error) {
            return $error->getMessage();
        }
        self::fail('It starts.');
    }

    private function fails(string $says, \Closure $assertion): void
    {
        try {
            $assertion();
        } catch (ExpectationFailedException $failure) {
            self::assertStringContainsString($says, $failure->getMessage());

            return;
        }
        self::fail('The assertion holds.');
    }
}
