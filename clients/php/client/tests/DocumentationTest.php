<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\JobRef;
use Adjourn\JobState;
use PHPUnit\Framework\TestCase;

/** Runs the code of the README and of the tutorial. */
final class DocumentationTest extends TestCase
{
    private static TestServer $server;

    public static function setUpBeforeClass(): void
    {
        self::$server = TestServer::start();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->kill();
    }

    public function testTheTutorialPrintsWhatItSays(): void
    {
        $text = file_get_contents(__DIR__ . '/../docs/tutorial.md');
        preg_match_all('/^```php\n(.*?)^```/ms', $text, $code);
        preg_match_all('/^```text\n(.*?)^```/ms', $text, $output);
        self::assertCount(count($code[1]), $output[1]);
        self::assertSame(implode('', $output[1]), $this->run_(implode("\n", $code[1])));
    }

    public function testTheReadmeHasAWorkingProducerAndWorker(): void
    {
        $text = file_get_contents(__DIR__ . '/../README.md');
        preg_match_all('/^<!-- (\w+) -->\n```php\n(.*?)^```/ms', $text, $code);
        $code = array_combine($code[1], $code[2]);
        ['producer' => $producer, 'worker' => $worker] = $code;
        $said = $this->run_($producer . $code['retries'] . $code['calls'] . $code['edit'] . $code['schedules'] . $code['fill'] . $code['groups']);
        $schedules = "morning 0 9 * * 1-5, version 2\n2027-03-28 03:00:00 +02:00 CEST\n5 instants, 5 jobs\n";
        self::assertSame("{$schedules}ann: 1 ready, 0 reserved\nGroupPaused\n", $said);
        $client = new Client(self::$server->address());
        self::assertSame(8, $client->peek('webhooks')->attributes->attemptsMax);
        self::assertSame(8, $client->showTopic('emails')->policy->attemptsMax);
        $edited = $client->get(JobRef::key('emails', 'order-17'));
        // The topic has 8 attempts.
        self::assertSame([3, 8, 'bob@example.com'], [$edited->priority, $edited->attributes->attemptsMax, $edited->payload()['cc']]);
        $orders = $client->showTopic('orders')->policy;
        self::assertSame(['https://shop.example/hooks', true], [$orders->callBack, $orders->callBackPaused]);
        $id = $client->runNow(JobRef::key('emails', 'order-17'))->job;
        [$process, $pipe] = $this->start($worker);
        self::assertSame("To ann@example.com, attempt 1\n", fgets($pipe));
        Eventually::holds(static fn (): bool => $client->get($id)->state === JobState::Finished, 'The job is not finished.');
        proc_terminate($process, SIGTERM);
        Eventually::holds(static function () use ($process, &$code): bool {
            $status = proc_get_status($process);
            $code = $status['exitcode'];

            return !$status['running'];
        }, 'The worker does not end.');
        self::assertSame(0, $code);
    }

    public function testTheReadmeHasAWorkingTest(): void
    {
        $text = file_get_contents(__DIR__ . '/../README.md');
        preg_match_all('/^<!-- (\w+) -->\n```php\n(.*?)^```/ms', $text, $code);
        ['trials' => $trials, 'test' => $test] = array_combine($code[1], $code[2]);
        $folder = sys_get_temp_dir() . '/adjourn-php-' . bin2hex(random_bytes(4));
        mkdir($folder);
        file_put_contents("$folder/Trials.php", $trials);
        file_put_contents("$folder/TrialsTest.php", $test);
        try {
            $command = [PHP_BINARY, $_SERVER['argv'][0], '--bootstrap', __DIR__ . '/bootstrap.php', "$folder/TrialsTest.php"];
            $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
            $said = stream_get_contents($pipes[1]);
            self::assertSame(0, proc_close($process), $said);
            self::assertStringContainsString('OK (1 test,', $said);
        } finally {
            array_map(unlink(...), ["$folder/Trials.php", "$folder/TrialsTest.php"]);
            rmdir($folder);
        }
    }

    private function run_(string $code): string
    {
        [$process, $pipe] = $this->start($code);
        $said = stream_get_contents($pipe);
        proc_close($process);

        return $said;
    }

    /** @return array{resource, resource} */
    private function start(string $code): array
    {
        $code = str_replace('adjourn://127.0.0.1:7440', 'adjourn://' . self::$server->address(), $code);
        preg_match_all('/^use .*;$/m', $code, $uses);
        $body = preg_replace('/^use .*;\n/m', '', $code);
        // The parts of a page are one script. The tests have no Composer.
        self::assertSame(1, substr_count($body, "<?php\n"));
        self::assertSame(1, substr_count($body, "require 'vendor/autoload.php';\n"));
        $body = str_replace(["<?php\n", "'vendor/autoload.php'"], ['', var_export(__DIR__ . '/bootstrap.php', true)], $body);
        $script = "<?php\n" . implode("\n", array_unique($uses[0])) . "\n$body";
        $process = proc_open([PHP_BINARY], [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
        fwrite($pipes[0], $script);
        fclose($pipes[0]);
        stream_set_timeout($pipes[1], 15);

        return [$process, $pipes[1]];
    }
}
