<?php

declare(strict_types=1);

// Runs Laravel's own beanstalkd driver, unchanged, under Laravel's own worker: `laravel.php HOST PORT`.
//
// The driver of Laravel 8 needs Pheanstalk 4, which is the version that Debian has beside it.

use Illuminate\Bus\Dispatcher as Bus;
use Illuminate\Bus\Queueable;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher as BusContract;
use Illuminate\Contracts\Container\Container as ContainerContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Events\Dispatcher as EventsContract;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Events\Dispatcher as Events;
use Illuminate\Queue\BeanstalkdQueue;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\Events\JobFailed;
use Illuminate\Queue\InteractsWithQueue;
use Illuminate\Queue\Jobs\BeanstalkdJob;
use Illuminate\Queue\MaxAttemptsExceededException;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Pheanstalk\Exception\JobNotFoundException;
use Pheanstalk\JobId;

require __DIR__ . '/checks.php';
// Debian's package of the driver looks for Pheanstalk where its package does not put it.
require_once 'Pheanstalk/autoload.php';
require_once 'Illuminate/Queue/autoload.php';
require_once 'Illuminate/Events/autoload.php';
require_once 'Illuminate/Bus/autoload.php';

/** A job that writes down what happens to it. */
final class Recorder implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    /** @var list<string> */
    public static array $seen = [];

    /** Fails, or is released by itself, as often as it says. */
    public function __construct(
        public string $name,
        public int $fails = 0,
        public int $releases = 0,
        public int $tries = 0,
        public int $backoff = 0,
    ) {
    }

    public function handle(): void
    {
        self::$seen[] = "$this->name {$this->attempts()}";
        if ($this->attempts() <= $this->fails) {
            throw new RuntimeException("$this->name fails");
        }
        if ($this->attempts() <= $this->releases) {
            $this->release(1);
        }
    }

    public function failed(Throwable $error): void
    {
        self::$seen[] = "$this->name failed: {$error->getMessage()}";
    }
}

/** A job as it was before Laravel 5: a class with `fire`. */
final class OldRecorder
{
    public function fire(BeanstalkdJob $job, array $data): void
    {
        Recorder::$seen[] = "$data[name] {$job->attempts()} {$job->getQueue()}";
        $job->delete();
    }
}

/** What an application does with exceptions of jobs. */
final class Reports implements ExceptionHandler
{
    /** @var list<Throwable> */
    public array $reported = [];

    public function report(Throwable $e)
    {
        $this->reported[] = $e;
    }

    public function shouldReport(Throwable $e)
    {
        return true;
    }

    public function render($request, Throwable $e)
    {
        throw $e;
    }

    public function renderForConsole($output, Throwable $e)
    {
        throw $e;
    }
}

final class LaravelChecks extends Checks
{
    private const RETRY_AFTER_S = 90;
    private const SHARED_JOBS = 50;

    private Manager $capsule;
    private Reports $reports;
    /** @var list<string> the queues of the jobs that failed for good */
    private array $failed = [];

    public function jobIsRun(): void
    {
        $id = $this->queue()->push(new Recorder('a'));
        self::equal($this->queue()->size(), 1);
        $stats = $this->queue()->getPheanstalk()->statsJob($id);
        self::equal([$stats->state, $stats->ttr, $stats->pri], ['ready', (string) self::RETRY_AFTER_S, '1024']);
        $this->work(1);
        self::equal(Recorder::$seen, ['a 1']);
        self::equal($this->queue()->size(), 0);
        self::throws(JobNotFoundException::class, fn () => $this->queue()->getPheanstalk()->peek($id));
    }

    public function classWithFireIsRun(): void
    {
        $this->queue()->push(OldRecorder::class, ['name' => 'old']);
        $this->work(1);
        self::equal(Recorder::$seen, ["old 1 $this->tube"]);
    }

    public function manyJobsAreRun(): void
    {
        $this->queue()->bulk([new Recorder('a'), new Recorder('b'), new Recorder('c')]);
        self::equal($this->queue()->size(), 3);
        $this->work(3);
        sort(Recorder::$seen);
        self::equal(Recorder::$seen, ['a 1', 'b 1', 'c 1']);
    }

    public function laterJobIsRunLater(): void
    {
        $far = $this->queue()->later(LONG_S, new Recorder('far'));
        // `size` counts ready jobs only.
        self::equal($this->queue()->size(), 0);
        $tube = $this->queue()->getPheanstalk()->statsTube($this->tube);
        self::equal($tube->current_jobs_delayed, '1');
        $this->queue()->later(new DateInterval('PT1S'), new Recorder('near'));
        $this->work(1);
        self::equal(Recorder::$seen, ['near 1']);
        $this->queue()->deleteMessage($this->tube, $far->getId());
        self::equal($this->queue()->getPheanstalk()->statsTube($this->tube)->current_jobs_delayed, '0');
    }

    public function failingJobIsRetriedAndFails(): void
    {
        $this->queue()->push(new Recorder('a', fails: 9, tries: 3, backoff: 1));
        $this->work(3);
        self::equal(Recorder::$seen, ['a 1', 'a 2', 'a 3', 'a failed: a fails']);
        self::equal($this->failed, [$this->tube]);
        self::equal(array_map(fn (Throwable $error) => $error->getMessage(), $this->reports->reported), array_fill(0, 3, 'a fails'));
        // Nothing is left of it, ready or not.
        $tube = $this->queue()->getPheanstalk()->statsTube($this->tube);
        foreach (['ready', 'delayed', 'reserved', 'buried'] as $state) {
            self::equal($tube["current-jobs-$state"], '0', $state);
        }
        $this->reports->reported = [];
    }

    public function failingJobWaitsForItsBackoff(): void
    {
        $id = $this->queue()->push(new Recorder('a', fails: 1, tries: 2, backoff: LONG_S));
        $this->work(1);
        $stats = $this->queue()->getPheanstalk()->statsJob($id);
        self::equal([$stats->state, $stats->reserves], ['delayed', '1']);
        self::isTrue((int) $stats->time_left > LONG_S - PATIENCE_S, "$stats->time_left s are left");
        $this->queue()->getPheanstalk()->delete($id);
        $this->reports->reported = [];
    }

    public function failingJobRecovers(): void
    {
        $this->queue()->push(new Recorder('a', fails: 1, tries: 3, backoff: 1));
        $this->work(2);
        self::equal([Recorder::$seen, $this->failed], [['a 1', 'a 2'], []]);
        $this->reports->reported = [];
    }

    public function jobReleasesItself(): void
    {
        $this->queue()->push(new Recorder('a', releases: 2));
        $this->work(3);
        self::equal(Recorder::$seen, ['a 1', 'a 2', 'a 3']);
    }

    public function jobOfLostWorkerIsRunAgain(): void
    {
        $this->queue()->push(new Recorder('a'));
        $this->loseWorker();
        $this->work(1);
        self::equal(Recorder::$seen, ['a 2']);
    }

    public function jobThatLosesWorkersFails(): void
    {
        $this->queue()->push(new Recorder('a', tries: 1));
        $this->loseWorker();
        $this->work(1);
        self::equal(count(Recorder::$seen), 1);
        self::isTrue(str_starts_with(Recorder::$seen[0], 'a failed: '), Recorder::$seen[0]);
        self::equal(array_map(get_class(...), $this->reports->reported), [MaxAttemptsExceededException::class]);
        $this->reports->reported = [];
    }

    public function queuesHaveAnOrder(): void
    {
        [$high, $low] = ["$this->tube-high", "$this->tube-low"];
        $this->queue()->push(new Recorder('low'), '', $low);
        $this->queue()->push(new Recorder('high'), '', $high);
        $this->useServer(0);
        $this->work(2, "$high,$low");
        self::equal(Recorder::$seen, ['high 1', 'low 1']);
    }

    public function twoWorkersShareJobs(): void
    {
        $this->useServer(0);
        for ($number = 100; $number < 100 + self::SHARED_JOBS; $number++) {
            $this->queue()->push(new Recorder("$number"));
        }
        $work = function (): string {
            // A connection of its own.
            $this->useServer(0);
            $this->worker()->daemon('default', $this->tube, new WorkerOptions(sleep: 0, maxTries: 1, stopWhenEmpty: true));

            return implode(',', Recorder::$seen);
        };
        $workers = [self::inProcess($work), self::inProcess($work)];
        $seen = array_merge(...array_map(fn (callable $worker) => array_filter(explode(',', $worker())), $workers));
        sort($seen);
        self::equal($seen, array_map(fn (int $number) => "$number 1", range(100, 99 + self::SHARED_JOBS)));
        self::equal($this->queue()->size(), 0);
    }

    public function jobIsBuriedAndKicked(): void
    {
        $id = $this->queue()->pushRaw(json_encode(['job' => OldRecorder::class, 'data' => ['name' => 'raw']]));
        $job = $this->queue()->pop();
        self::equal([$job::class, $job->getJobId(), $job->attempts()], [BeanstalkdJob::class, $id->getId(), 1]);
        $job->bury();
        self::equal($this->queue()->size(), 0);
        self::equal($this->queue()->getPheanstalk()->useTube($this->tube)->kick(1), 1);
        self::equal($this->queue()->size(), 1);
        $job = $this->queue()->pop();
        $job->delete();
        self::throws(JobNotFoundException::class, fn () => $this->queue()->getPheanstalk()->delete(new JobId($job->getJobId())));
    }

    public function emptyQueueHasNoJob(): void
    {
        $this->useServer(0);
        self::equal($this->queue()->pop(), null);
        $this->useServer(1);
        self::equal($this->queue()->pop(), null);
    }

    protected function begin(): void
    {
        parent::begin();
        Recorder::$seen = [];
        $this->failed = [];
        $this->useServer(PATIENCE_S);
    }

    /** An application with a connection to the server, whose `pop` waits for so many seconds. */
    private function useServer(int $blockFor): void
    {
        $app = new Container();
        $events = new Events($app);
        $app->instance('events', $events);
        $app->instance(EventsContract::class, $events);
        $app->instance(ContainerContract::class, $app);
        $app->instance(BusContract::class, new Bus($app));
        Container::setInstance($app);
        $events->listen(JobFailed::class, function (JobFailed $event): void {
            $this->failed[] = $event->job->getQueue();
        });
        $this->reports = new Reports();
        $this->capsule = new Manager($app);
        $this->capsule->addConnection([
            'driver' => 'beanstalkd', 'host' => $this->host, 'port' => $this->port,
            'queue' => $this->tube, 'retry_after' => self::RETRY_AFTER_S, 'block_for' => $blockFor,
        ]);
    }

    private function queue(): BeanstalkdQueue
    {
        return $this->capsule->getConnection();
    }

    private function worker(): Worker
    {
        $manager = $this->capsule->getQueueManager();

        return new Worker($manager, $manager->getApplication()['events'], $this->reports, static fn (): bool => false);
    }

    /** Laravel's worker runs so many jobs. */
    private function work(int $jobs, string $queue = ''): void
    {
        $options = new WorkerOptions(sleep: 0, maxTries: 1, maxJobs: $jobs, maxTime: PATIENCE_S);
        $this->worker()->daemon('default', $queue ?: $this->tube, $options);
        foreach ($this->reports->reported as $error) {
            if (!$error instanceof RuntimeException) {
                throw $error;
            }
        }
    }

    /** A process takes a job, and is killed. */
    private function loseWorker(): void
    {
        $dying = self::inProcess(function (): string {
            $this->useServer(PATIENCE_S);

            return $this->queue()->pop() === null ? 'nothing' : 'a job';
        });
        self::equal($dying(), 'a job');
    }
}

(new LaravelChecks($argv[1], (int) $argv[2]))->run('laravel', 'php-illuminate-queue');
