<?php

declare(strict_types=1);

// Fills queues of Laravel, or works on them, with its own driver of Redis: `laravel.php PORT fill|feed|work`.
// `laravel.php PORT run TOPIC...` runs jobs that were taken over, with the driver of Adjourn: PORT is then that of Adjourn.
//
// `fill` prints a line for each job: its id in the payload, and what becomes of it (see `Lines` in checks.py).

use Adjourn\Laravel\AdjournConnector;
use Illuminate\Bus\Dispatcher as Bus;
use Illuminate\Bus\Queueable;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher as BusContract;
use Illuminate\Contracts\Container\Container as ContainerContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Events\Dispatcher as EventsContract;
use Illuminate\Contracts\Queue\Job;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Events\Dispatcher as Events;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\InteractsWithQueue;
use Illuminate\Queue\RedisQueue;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Illuminate\Redis\RedisManager;

require __DIR__ . '/../../../clients/php/laravel/tests/bootstrap.php';
require_once 'Illuminate/Redis/autoload.php';

const PREFIX = 'laravel_database_';
const RETRY_AFTER_S = 90;
const DAY_S = 86_400;

/** A job that has fields of all kinds. */
final class SendMail implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    public int $tries = 3;
    public array $backoff = [10, 60];
    public int $timeout = 30;
    public array $orders = [];
    public float $price = 1.10;
    public string $text = "订单/\"x\"";
    protected int $secret = 1;

    public function handle(): void
    {
        echo json_encode(['sent' => [$this->text, $this->price, $this->secret, $this->attempts()]]), "\n";
    }
}

/** A job as it was before Laravel 5. */
final class Old
{
    public function fire(Job $job, mixed $data): void
    {
        $job->delete();
    }
}

/** Prints its number once it is done. Some fail at first. */
final class Numbered
{
    public function fire(Job $job, int $number): void
    {
        if ($number % 10 === 0 && $job->attempts() === 1) {
            $job->release($number % 3 === 0 ? 1 : 0);

            return;
        }
        echo "$number\n";
        $job->delete();
    }
}

/** An application whose queues are in Redis. */
final class Application
{
    public readonly Container $container;
    public readonly Manager $capsule;
    private readonly int $laterS;

    public function __construct(private readonly int $port)
    {
        $app = $this->container = new Container();
        $app->instance(ContainerContract::class, $app);
        $app->instance('events', $events = new Events($app));
        $app->instance(EventsContract::class, $events);
        $app->instance(BusContract::class, new Bus($app));
        Container::setInstance($app);
        $app->instance('redis', $this->redis([]));
        $this->capsule = new Manager($app);
        $redis = ['driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => RETRY_AFTER_S];
        $this->capsule->addConnection($redis);
        // Its reservations end before they begin.
        $this->capsule->addConnection(['retry_after' => -DAY_S] + $redis, 'lapsed');
        $this->laterS = time() + 365 * DAY_S;
    }

    public function fill(): void
    {
        $this->fillPlaces();
        $this->fillHeld();
        $this->fillSerialised(Redis::SERIALIZER_PHP, 'a job');
        if (defined('Redis::SERIALIZER_IGBINARY')) {
            $this->fillSerialised(Redis::SERIALIZER_IGBINARY, 'it is no payload in JSON');
        }
    }

    /** Pushes jobs with the numbers of each line: the first of them, and how many. */
    public function feed(): void
    {
        while (($line = fgets(STDIN)) !== false) {
            [$first, $count] = array_map(intval(...), explode(' ', $line));
            for ($number = $first; $number < $first + $count; $number++) {
                $number % 2 === 0
                    ? $this->queue()->push('Numbered', $number, 'race')
                    : $this->queue()->later($number % 3, 'Numbered', $number, 'race');
            }
        }
    }

    /** Laravel's own worker, until it is killed. */
    public function work(): void
    {
        $reports = new class implements ExceptionHandler {
            public function report(Throwable $e): void
            {
                fwrite(STDERR, "$e\n");
            }

            public function shouldReport(Throwable $e): bool
            {
                return true;
            }

            public function render($request, Throwable $e): never
            {
                throw $e;
            }

            public function renderForConsole($output, Throwable $e): never
            {
                throw $e;
            }
        };
        $manager = $this->capsule->getQueueManager();
        $worker = new Worker($manager, $this->container['events'], $reports, static fn (): bool => false);
        $worker->daemon('default', 'race', new WorkerOptions(sleep: 0.01, maxTries: 0));
    }

    /** Runs all due jobs of topics of Adjourn, and prints their payloads. */
    public function run(string ...$topics): void
    {
        foreach ($topics as $topic) {
            $queue = (new AdjournConnector())->connect(['server' => "adjourn://127.0.0.1:$this->port", 'queue' => $topic]);
            $queue->setContainer($this->container);
            $queue->setConnectionName('adjourn');
            while ($job = $queue->pop()) {
                echo json_encode(['topic' => $topic, 'body' => $job->getRawBody(), 'attempts' => $job->attempts()]), "\n";
                $job->fire();
            }
        }
    }

    private function fillPlaces(): void
    {
        $queue = $this->queue();
        $this->say($queue->push('Old', ['n' => 1]), 'default');
        $this->say($queue->push('Old', []), 'default');
        $data = ['n' => 2, 'big' => 12345678901234567, 'f' => 0.1, 'u' => '订单 "<>&/'];
        $this->say($queue->later($this->at(1), 'Old', $data), 'default', 1);
        $this->say($queue->push(new SendMail(), '', 'mail'), 'mail', expected: ['ttr_ms' => 40_000]);
        $this->say($queue->later($this->at(2), new SendMail(), '', 'mail'), 'mail', 2, ['ttr_ms' => 40_000]);
        $this->say($queue->later(-DAY_S, 'Old', 'overdue', 'late'), 'late');
        $grouped = '{"id":"raw-1","attempts":0,"job":"Old","data":[],"messageGroup":"g"}';
        // Two that are equal.
        $this->say($queue->pushRaw($grouped, 'raw'), 'raw', expected: ['group' => 'g']);
        $this->say($queue->pushRaw($grouped, 'raw'), 'raw', expected: ['group' => 'g']);
        // Names like those of other keys of a queue `a`; and one for a cluster, whose braces are not part of the topic.
        $this->say($queue->later($this->at(3), 'Old', [], 'a:delayed'), 'a:delayed', 3);
        $this->say($queue->push('Old', [], 'a:notify'), 'a:notify');
        $this->say($queue->later($this->at(4), 'Old', [], '{high}'), 'high', 4);
        $this->say($queue->push('Old', [], '{high}'), 'high');
        $this->say($queue->push('Old', [], 'two words'), 'two words', expected: ['becomes' => 'cannot be the name of a topic']);
    }

    /** Jobs that workers have had. */
    private function fillHeld(): void
    {
        $queue = $this->queue();
        $ids = [$queue->push('Old', [], 'held')];
        // Laravel's own script writes some of it in another way.
        $ids[] = $queue->push('Old', ['big' => 12345678901234567, 'f' => 0.1, 'e' => [], 'u' => '订单/'], 'held');
        $queue->pop('held');
        $queue->pop('held');
        array_map(fn (string $id) => $this->say($id, 'held', expected: ['becomes' => 'held']), $ids);
        $id = $queue->push('Old', ['n' => 3], 'back');
        $queue->pop('back')->release($this->at(5)->getTimestamp() - time());
        $score = $this->container['redis']->connection()->zrange('queues:back:delayed', 0, -1, ['withscores' => true]);
        $this->say($id, 'back', expected: ['due_ms' => 1000 * (int) array_values($score)[0]]);
        $id = $queue->push('Old', ['n' => 4], 'lapsed');
        $this->capsule->getConnection('lapsed')->pop('lapsed');
        $this->say($id, 'lapsed', expected: ['becomes' => 'held']);
    }

    /** A job that an option of phpredis writes in another way. */
    private function fillSerialised(int $serializer, string $becomes): void
    {
        $queue = new RedisQueue($this->redis(['serializer' => $serializer]), 'default', 'default', RETRY_AFTER_S);
        $queue->setContainer($this->container);
        $topic = "serialised-$serializer";
        $this->say($queue->later($this->at(6), 'Old', ['u' => '订单'], $topic), $topic, 6, ['becomes' => $becomes]);
    }

    private function say(string|int|null $id, string $topic, ?int $nth = null, array $expected = []): void
    {
        $dueMs = $nth === null ? null : 1000 * ($this->laterS + $nth);
        echo json_encode($expected + [
            'id' => $id, 'becomes' => 'a job', 'topic' => $topic, 'due_ms' => $dueMs, 'key' => null, 'priority' => 1024,
            'attempts_max' => 4_294_967_295, 'backoff' => '0s', 'ttr_ms' => 1000 * RETRY_AFTER_S, 'group' => null,
            'headers' => ['content-type' => 'application/json'],
        ]), "\n";
    }

    private function at(int $nth): DateTimeImmutable
    {
        return new DateTimeImmutable('@' . ($this->laterS + $nth) . '.75');
    }

    private function queue(): RedisQueue
    {
        return $this->capsule->getConnection();
    }

    private function redis(array $options): RedisManager
    {
        $default = ['host' => '127.0.0.1', 'port' => $this->port, 'database' => 0];

        return new RedisManager($this->container, 'phpredis', ['options' => ['prefix' => PREFIX] + $options, 'default' => $default]);
    }
}

(new Application((int) $argv[1]))->{$argv[2]}(...array_slice($argv, 3));
