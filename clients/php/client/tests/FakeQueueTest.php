<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\BuriedReason;
use Adjourn\Error\AdjournException;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\Server\Quota;
use Adjourn\Filter;
use Adjourn\LatePolicy;
use Adjourn\NewJob;
use Adjourn\Testing\FakeQueue;
use Adjourn\TopicPolicy;

final class FakeQueueTest extends QueueContract
{
    public function testARateSpreadsDeliveriesOverTime(): void
    {
        $this->queue->setTopic('t', new TopicPolicy(ratePerSecond: 20));
        $this->queue->pushMany('t', array_fill(0, 6, new NewJob('x')));
        self::assertCount(2, $this->queue->reserve('t', jobsMax: 6), 'At most a tenth of a second comes at once.');
        $this->passes(49);
        self::assertSame([], $this->queue->reserve('t'));
        $this->passes(1);
        self::assertCount(1, $this->queue->reserve('t', jobsMax: 6));
        $before = $this->queue->clock->nowMs();
        self::assertCount(1, $this->queue->reserve('t', waitMs: 5000, jobsMax: 6));
        self::assertSame(50, $this->queue->clock->nowMs() - $before, 'A wait ends when the rate allows the next one.');
    }

    public function testAJobThatIsFirstDeliveredLateIsBuriedOrDropped(): void
    {
        $this->queue->setTopic('bury', new TopicPolicy(late: LatePolicy::bury(10_000)));
        $this->queue->setTopic('drop', new TopicPolicy(late: LatePolicy::drop(10_000)));
        $buried = $this->queue->push('bury', 'x')->job;
        $this->queue->push('drop', 'x');
        $this->passes(10_001);
        $inTime = $this->queue->push('bury', 'y')->job;
        self::assertSame([$inTime], array_column($this->queue->reserve(['bury', 'drop'], jobsMax: 5), 'id'));
        self::assertSame(BuriedReason::TooLate, $this->queue->get($buried)->buried);
        self::assertSame(1, $this->queue->topics()[1]->expired);
    }

    public function testATestMayLetCallsFail(): void
    {
        $this->queue->failNext(ErrorCode::Quota, new OutcomeUnknown('PUSH may have been applied.'));
        foreach ([Quota::class, OutcomeUnknown::class] as $class) {
            try {
                $this->queue->push('t', 'x');
                self::fail('The test wants a failure.');
            } catch (AdjournException $error) {
                self::assertSame($class, $error::class);
            }
        }
        $this->queue->push('t', 'x');
        self::assertSame(1, $this->queue->count(new Filter('t')));
    }

    protected function setUp(): void
    {
        $this->queue = new FakeQueue();
        $this->topic = 't';
    }

    protected function passes(int $ms): void
    {
        $this->queue->clock->advance($ms);
    }
}
