<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Connection\Call;
use Adjourn\Connection\Session;
use Adjourn\Protocol\Opcode;

/**
 * @internal A list of jobs as the frames take them, in as few frames as the limits allow.
 *
 * @implements \IteratorAggregate<int, list<array<string, mixed>>>
 */
final readonly class Batches implements \IteratorAggregate
{
    /** What a frame may have beside its jobs. */
    private const FRAME_SPARE_BYTES = 1024;
    /** What a job has beside its key, attributes and body. */
    private const JOB_BYTES = 26;
    /** Frames that are under way at once. */
    private const PUSHES_MAX = 8;

    /**
     * @param iterable<NewJob> $jobs
     * @param int $jobsMax most jobs of one frame
     * @param array<string, string> $traceHeaders for each job
     */
    public function __construct(
        private Session $session,
        private BodyCodec $codec,
        private iterable $jobs,
        private int $jobsMax,
        private array $traceHeaders,
    ) {
    }

    /** @return list<PushResult> one per job, in order */
    public function push(string $topic): array
    {
        $calls = [];
        $results = [];
        foreach ($this as $batch) {
            // The session numbers the jobs when it sends them.
            $calls[] = $this->session->submit(Opcode::Push, ['sequence' => null, 'topic' => $topic, 'jobs' => $batch]);
            if (count($calls) >= self::PUSHES_MAX) {
                $this->collect(array_shift($calls), $results);
            }
        }
        foreach ($calls as $call) {
            $this->collect($call, $results);
        }

        return $results;
    }

    public function getIterator(): \Generator
    {
        $batch = [];
        $bytes = 0;
        foreach ($this->jobs as $job) {
            $fields = NewJob::listed($job)->fields($this->codec, $this->traceHeaders);
            $size = self::JOB_BYTES + strlen($fields['key']) + strlen($fields['attributes']) + strlen($fields['body']);
            $limits = $this->session->limits();
            if ($batch !== [] && (count($batch) >= min($this->jobsMax, $limits->pushJobsMax)
                || $bytes + $size > $limits->frameBytesMax - self::FRAME_SPARE_BYTES)) {
                yield $batch;
                [$batch, $bytes] = [[], 0];
            }
            $batch[] = $fields;
            $bytes += $size;
        }
        if ($batch !== []) {
            yield $batch;
        }
    }

    /** @param list<PushResult> $results */
    private function collect(Call $call, array &$results): void
    {
        array_push($results, ...array_map(PushResult::of(...), $this->session->await($call)['results']));
    }
}
