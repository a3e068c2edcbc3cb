<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\AdjournError;
use Adjourn\Error\ConnectionError;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\NewJob;
use Adjourn\Options;
use Adjourn\Tls;
use PHPUnit\Framework\TestCase;

/** TLS against a real server, with certificates that `adjourn cert` made. */
final class TlsTest extends TestCase
{
    /** @var list<string> */
    private static array $folders = [];
    private static string $folder;

    public static function setUpBeforeClass(): void
    {
        self::$folder = self::certificates();
    }

    public static function tearDownAfterClass(): void
    {
        foreach (self::$folders as $folder) {
            array_map(unlink(...), glob("$folder/*"));
            rmdir($folder);
        }
        self::$folders = [];
    }

    public function testJobsGoOverTlsAndAClientComesBack(): void
    {
        $server = self::server();
        $queue = new Client(new Options("adjourns://{$server->address()}", tls: new Tls(self::path('ca.pem'))));
        for ($i = 0; $i < 100; $i++) {
            $queue->push('small', 'x');
        }
        $large = random_bytes(1 << 20);
        $queue->push('large', $large, delayMs: 200);
        $job = $queue->reserve('large', waitMs: 20_000)[0];
        self::assertSame($large, $job->body);
        $queue->finish($job);
        $server->kill();
        $server->run();
        self::assertGreaterThan(0, $queue->push('small', 'x')->job);
    }

    public function testMoreThanTheSocketTakesAtOnceIsSentWhole(): void
    {
        $server = self::server();
        $queue = new Client(new Options("adjourns://{$server->address()}", tls: new Tls(self::path('ca.pem'))));
        $bodies = array_map(static fn (): string => random_bytes(100_000), range(1, 200));
        $queue->pushMany('many', array_map(static fn (string $body): NewJob => new NewJob($body), $bodies));
        foreach (array_chunk($bodies, 20) as $chunk) {
            $jobs = $queue->reserve('many', jobsMax: 20, waitMs: 10_000);
            self::assertEqualsCanonicalizing($chunk, array_column($jobs, 'body'));
            $queue->finishMany($jobs);
        }
    }

    public function testAForkCostsTheParentItsConnectionAndNothingElse(): void
    {
        $server = self::server();
        $queue = new Client(new Options("adjourns://{$server->address()}", tls: new Tls(self::path('ca.pem'))));
        $queue->push('held', 'x');
        $job = $queue->reserve('held')[0];
        [$child, $said] = Processes::fork(static fn (callable $say) => $say($queue->push('t', 'of the child')->job));
        self::assertIsInt(Processes::said($said));
        Processes::wait($child);
        $queue->push('t', 'of the parent');
        $queue->finish($job);
        self::assertSame(2, $queue->count(new Filter(topic: 't')));
    }

    public function testWhomAClientDoesNotBelieveItDoesNotTalkTo(): void
    {
        $ca = self::path('ca.pem');
        $server = self::server();
        $strict = self::server('--tls-client-ca', $ca);
        foreach ([
            ["adjourns://{$server->address()}", new Tls(self::certificates() . '/ca.pem'), 'certificate verify failed'],
            ["adjourns://{$server->address()}", null, 'certificate verify failed'],
            ["adjourns://localhost:$server->port", new Tls($ca), 'did not match'],
            ["adjourns://{$strict->address()}", new Tls($ca), 'certificate required'],
        ] as [$address, $tls, $reason]) {
            try {
                (new Client(new Options($address, connectTimeoutMs: 500, tls: $tls)))->connect();
                self::fail("connected: $reason");
            } catch (ConnectionError $error) {
                self::assertStringContainsString('TLS failed: ', $error->getMessage());
                self::assertStringContainsString($reason, $error->getMessage());
            }
        }
        $queue = new Client(new Options("adjourns://{$strict->address()}", tls: new Tls($ca, self::path('shop.pem'), self::path('shop.key'))));
        self::assertGreaterThan(0, $queue->push('t', 'x')->job);
    }

    public function testAPushToAServerThatDoesNotLetTheClientInIsNotApplied(): void
    {
        $ca = self::path('ca.pem');
        $foreign = self::certificates();
        $strict = self::server('--tls-client-ca', $ca);
        foreach ([[new Tls($ca), 'certificate required'], [new Tls($ca, "$foreign/shop.pem", "$foreign/shop.key"), 'alert']] as [$tls, $reason]) {
            try {
                (new Client(new Options("adjourns://{$strict->address()}", tls: $tls)))->push('t', 'x');
                self::fail("pushed: $reason");
            } catch (ConnectionError $error) {
                self::assertStringContainsString('TLS failed: ', $error->getMessage());
                self::assertStringContainsString($reason, $error->getMessage());
                self::assertFalse($error->mayBeApplied);
            }
        }
        $queue = new Client(new Options("adjourns://{$strict->address()}", tls: new Tls($ca, self::path('shop.pem'), self::path('shop.key'))));
        self::assertSame(0, $queue->count(new Filter(topic: 't')));
    }

    public function testAPlainClientIsToldWhatToWrite(): void
    {
        $server = self::server();
        $this->expectException(AdjournError::class);
        $this->expectExceptionMessage('adjourns://');
        (new Client(new Options($server->address())))->connect();
    }

    public function testAPlainServerIsToldApart(): void
    {
        $server = TestServer::start();
        $this->expectException(ConnectionError::class);
        $this->expectExceptionMessage('TLS failed: ');
        (new Client(new Options("adjourns://{$server->address()}")))->connect();
    }

    /** @return iterable<string, array{\Closure(): mixed, string}> */
    public static function refused(): iterable
    {
        yield 'files beside a plain address' => [static fn () => new Options('a:1', tls: new Tls()), 'adjourns://'];
        yield 'a certificate without its key' => [static fn () => new Tls(certificate: 'shop.pem'), 'key'];
        yield 'a file that is not there' => [static fn () => new Tls(ca: 'gone.pem'), 'gone.pem'];
        yield 'two schemes' => [static fn () => new Options('adjourns://a:1,adjourn://b:1'), 'with all servers or with none'];
        yield 'a scheme that comes late' => [static fn () => new Options(['a:1', 'adjourns://b:1']), 'with all servers or with none'];
        yield 'another scheme' => [static fn () => new Options('tls://a:1'), 'no address'];
    }

    /** @dataProvider refused */
    public function testWhatCannotBeIsRefused(\Closure $make, string $reason): void
    {
        $this->expectException(UsageError::class);
        $this->expectExceptionMessage($reason);
        $make();
    }

    private static function path(string $name): string
    {
        return self::$folder . "/$name";
    }

    private static function server(string ...$flags): TestServer
    {
        return TestServer::start(['--tls-cert', self::path('node-1.pem'), '--tls-key', self::path('node-1.key'), ...$flags]);
    }

    /** A CA, a certificate of a server on 127.0.0.1, and one of a client. */
    private static function certificates(): string
    {
        $folder = sys_get_temp_dir() . '/adjourn-php-certificates-' . bin2hex(random_bytes(4));
        self::$folders[] = $folder;
        foreach (['node 1 --host 127.0.0.1', 'client shop'] as $what) {
            exec(escapeshellarg(Repository::server()) . " cert $what --dir " . escapeshellarg($folder) . ' 2>&1', $said, $code);
            self::assertSame(0, $code, implode("\n", $said));
        }

        return $folder;
    }
}
