<?php

declare(strict_types=1);

namespace Adjourn\Tests\Protocol;

use Adjourn\Attributes;
use Adjourn\Backoff;
use Adjourn\BuriedReason;
use Adjourn\Error\OutcomeUnknown;
use Adjourn\Error\UsageError;
use Adjourn\Filter;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\LatePolicy;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\FrameBuffer;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\Tagged;
use Adjourn\PushOutcome;
use Adjourn\PushResult;
use Adjourn\Tests\Repository;
use Adjourn\TopicPolicy;
use PHPUnit\Framework\TestCase;

final class CodecTest extends TestCase
{
    /** The last fields that frames may leave out, with values that are not left out: what follows is then behind the frame. */
    private const LATE = [
        'list_jobs' => 9, 'weights' => [7], 'reason' => 'why', 'if_version' => 4, 'to' => 'elsewhere', 'for_ms' => 6, 'clock_ms' => 5, 'version' => 8,
        'skipped' => 2, 'stages' => [['stage' => 's', 'count' => 1, 'p50_us' => 2, 'p99_us' => 3, 'p999_us' => 4, 'max_us' => 5]],
    ];

    public static function frames(): iterable
    {
        return Repository::frames();
    }

    /** @dataProvider frames */
    public function testEveryFrameOfTheSpecificationIsDecodedAndEncodedToTheSameBytes(string $frame): void
    {
        $message = self::decode(substr($frame, 4));
        self::assertNotNull($message);
        $again = self::encode($message);
        if ($message->opcode->value < Opcode::Welcome->value) {
            self::assertSame(bin2hex($frame), bin2hex($again));
        }
        // A server also sends last fields that say nothing.
        self::assertSame(rtrim(bin2hex(substr($frame, 4)), '0'), rtrim(bin2hex(substr($again, 4)), '0'));
    }

    /** @dataProvider frames */
    public function testEveryFrameThatIsCutOffIsMalformedOrEndsBeforeAnOptionalField(string $frame): void
    {
        $whole = self::decode(substr($frame, 4));
        for ($length = 0; $length < strlen($frame) - 4; ++$length) {
            try {
                $cut = self::decode(substr($frame, 4, $length));
            } catch (Malformed $error) {
                self::assertNotSame('', $error->getMessage());
                continue;
            }
            // Only fields that older peers leave out may be missing, and they are all that there is behind the others.
            $isOut = false;
            foreach ($cut->fields as $name => $value) {
                $isOut = $isOut || $value !== $whole->fields[$name];
                self::assertContains($value, $isOut ? [0, '', [], Codec::NONE] : [$whole->fields[$name]]);
            }
        }
    }

    /** @dataProvider frames */
    public function testUnknownTrailingBytesAreSkipped(string $frame): void
    {
        $message = self::decode(substr($frame, 4));
        $late = $message->opcode === Opcode::GoingAway ? ['reason' => 1] : self::LATE;
        $whole = self::encode(new Message($message->opcode, $message->requestId, $late + $message->fields));
        $read = self::decode(substr($whole, 4) . "\x07unknown");
        self::assertEquals(self::decode(substr($whole, 4)), $read);
        self::assertSame(array_diff_key($message->fields, self::LATE), array_diff_key($read->fields, self::LATE));
    }

    private static function decode(string $frame): ?Message
    {
        // The client decodes what a server sends.
        return ord($frame[0] ?? "\x80") < Opcode::Welcome->value ? ServerCodec::decode($frame) : Codec::decode($frame);
    }

    private static function encode(Message $message): string
    {
        return $message->opcode->value < Opcode::Welcome->value
            ? Codec::encode($message->opcode, $message->requestId, $message->fields)
            : ServerCodec::encode($message->opcode, $message->requestId, $message->fields);
    }

    public function testTheSpecificationShowsEveryOpcode(): void
    {
        $shown = [];
        foreach (Repository::frames() as [$frame]) {
            $shown[self::decode(substr($frame, 4))->opcode->name] = true;
        }
        self::assertSame([], array_values(array_filter(
            array_column(Opcode::cases(), 'name'),
            static fn (string $name): bool => !isset($shown[$name]),
        )));
    }

    public function testAnUnknownOpcodeIsNoError(): void
    {
        self::assertNull(Codec::decode("\xC9\0\0\0\1\0\0\0whatever"));
    }

    public function testALongerFixedPartIsSkipped(): void
    {
        $settled = pack('VCx3V', 8 + 6 + 2 * 3, 0xB0, 7) . pack('vV', 3, 2) . pack('vC', 0, 9) . pack('vC', 34, 9);
        self::assertSame([['code' => 0], ['code' => 34]], Codec::decode(substr($settled, 4))->fields['results']);
    }

    public function testAShorterFixedPartIsMalformed(): void
    {
        $this->expectException(Malformed::class);
        Codec::decode(pack('Cx3VvVC', 0xB0, 7, 1, 1, 0));
    }

    public function testADeliveryWithoutADeadlineIsRead(): void
    {
        $item = pack('PPPVVVCvvV', 42, 7, 1, 1024, 1, 60000, 1, 0, 0, 1) . 'tb';
        $message = Codec::decode(pack('Cx3VvV', 0xA0, 3, 45, 1) . $item);
        self::assertSame(0, $message->fields['jobs'][0]['deadline_ms']);
        self::assertSame('b', $message->fields['jobs'][0]['body']);
    }

    public function testACountThatCannotFitIsRefusedAtOnce(): void
    {
        $this->expectException(Malformed::class);
        Codec::decode(pack('Cx3VvV', 0xB0, 7, 2, 0xFFFFFFFF));
    }

    public function testATextThatIsNotUtf8IsMalformed(): void
    {
        $this->expectException(Malformed::class);
        Codec::decode(pack('Cx3V', 0x84, 0) . "\x02\0\xff\xff\x01");
    }

    public function testNumbersOutOfRangeAreRefused(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        Codec::encode(Opcode::KickMany, 1, ['jobs_max' => 1 << 32, 'topic' => 't']);
    }

    public function testIdsFrom2To63OnGoBackAsTheyCame(): void
    {
        $frame = Codec::encode(Opcode::Get, 1, ['ref' => ['job' => -2]]);
        self::assertStringEndsWith('feffffffffffffff', bin2hex($frame));
        self::assertSame(-2, ServerCodec::decode(substr($frame, 4))->fields['ref']['job']);
    }

    public function testAStreamIsCutIntoFramesWhereverItIsSplit(): void
    {
        $one = Codec::encode(Opcode::Ping, 1);
        $two = Codec::encode(Opcode::Peek, 2, ['topic' => 'orders']);
        for ($split = 0; $split <= strlen($one . $two); ++$split) {
            $buffer = new FrameBuffer();
            $frames = [];
            foreach ([substr($one . $two, 0, $split), substr($one . $two, $split)] as $part) {
                $buffer->append($part);
                while (($frame = $buffer->next()) !== null) {
                    $frames[] = $frame;
                }
            }
            self::assertSame([substr($one, 4), substr($two, 4)], $frames);
            self::assertFalse($buffer->isInsideFrame());
        }
    }

    /** @dataProvider badLengths */
    public function testALengthThatIsNotAllowedIsRefused(int $length): void
    {
        $buffer = new FrameBuffer();
        $buffer->append(pack('V', $length));
        $this->expectException(Malformed::class);
        $buffer->next();
    }

    public static function badLengths(): array
    {
        return [[0], [7], [33_554_433], [0xFFFFFFFF]];
    }

    public function testAttributesKeepWhatTheyHold(): void
    {
        $attributes = new Attributes(
            headers: ['traceparent' => '00-ab-cd-01', 'content-type' => 'text/plain'],
            expires: \Adjourn\Due::afterMs(5000),
            attemptsMax: 5,
            backoff: Backoff::exponential(1000, 60_000, 20),
            group: 'tenant-3',
            retentionMs: 60_000,
            createdAtMs: 17,
            scheduleReference: "\0\1",
            postponeMaxMs: 9,
            unknown: [[0x0077, 'kept']],
        );
        self::assertEquals($attributes, Attributes::decode($attributes->encode()));
        self::assertSame('', (new Attributes())->encode());
        // Critical tags are sorted by their low 15 bits.
        self::assertSame('01', bin2hex($attributes->encode()[0]));
    }

    /** @dataProvider brokenAttributes */
    public function testBrokenAttributesAreMalformed(string $bytes): void
    {
        $this->expectException(Malformed::class);
        Attributes::decode($bytes);
    }

    public static function brokenAttributes(): array
    {
        return [
            'cut off head' => ["\x01\0\x05"], 'cut off value' => ["\x01\0\x05\0ab"], 'header without a name' => ["\x01\0\0\0"],
            'header cut off' => ["\x01\0\x02\0\x09a"], 'attempts of two bytes' => ["\x03\x80\x02\0ab"],
            'backoff without a wait' => ["\x04\x80\x02\0\0\0"], 'empty backoff' => ["\x04\x80\0\0"], 'empty expiry' => ["\x02\x80\0\0"],
        ];
    }

    public function testThePoliciesAndFiltersOfTheSpecification(): void
    {
        $policy = new TopicPolicy(ttrMs: 30_000, ratePerSecond: 50, unset: ['deadLetters']);
        self::assertSame('01000400307500000a000400320000000c000000', bin2hex($policy->encode()));
        self::assertEquals($policy, TopicPolicy::decode($policy->encode()));
        $all = new TopicPolicy(1, 2, 3, Backoff::waits([5, 50], 1), 4, 5, 6, 7, 8, 9, LatePolicy::spread(5000, 60), 'dead', 10);
        self::assertEquals($all, TopicPolicy::decode($all->encode()));

        $filter = new Filter(topic: 'orders', dueBefore: new \DateTimeImmutable('2026-01-01T00:00:00Z'));
        self::assertSame('010006006f72646572730400080000a8da769b010000', bin2hex($filter->encode()));
        self::assertSame('0200010008', bin2hex((new Filter(states: [JobState::Buried]))->encode()));
    }

    public function testAJobIsShownWithItsHistory(): void
    {
        foreach (Repository::frames() as [$frame]) {
            $message = self::decode(substr($frame, 4));
            if ($message->opcode === Opcode::Job) {
                $job = JobReport::of($message->fields);
                break;
            }
        }
        self::assertSame([42, JobState::Buried, BuriedReason::AttemptsUsedUp], [$job->id, $job->state, $job->buried]);
        self::assertSame([5, '10.0.0.7:5000, "mailer"', 'no such address', null], [$job->attributes->attemptsMax, $job->heldBy, $job->reason, $job->finishedMs]);
    }

    public function testWhatANewerServerKnowsIsShownAsUnknown(): void
    {
        $shown = [
            'job' => 42, 'due_ms' => 1, 'state' => 200, 'buried' => 200, 'priority' => 1, 'attempts' => 3, 'ttr_ms' => 1, 'ttr_left_ms' => 0,
            'topic' => 't', 'key' => '', 'attributes' => '', 'body' => '',
        ];
        $message = Codec::decode(substr(ServerCodec::encode(Opcode::Job, 7, $shown), Codec::LENGTH_BYTES));
        $job = JobReport::of($message->fields);
        self::assertSame([42, JobState::Unknown, BuriedReason::Unknown, 3], [$job->id, $job->state, $job->buried, $job->attempts]);
        self::assertNull(JobReport::of(['buried' => 0] + $message->fields)->buried);

        $backoff = pack('CCVV', 200, 0, 1000, 2000);
        $attributes = Tagged::encode([[0x8003, pack('V', 5)], [0x8004, $backoff]]);
        self::assertSame([5, null], [Attributes::decode($attributes)->attemptsMax, Attributes::decode($attributes)->backoff]);
        self::assertSame(bin2hex($attributes), bin2hex(Attributes::decode($attributes)->encode()), 'It is kept as it came.');
        self::assertEquals(new TopicPolicy(ttrMs: 7), TopicPolicy::decode(Tagged::encode([[1, pack('V', 7)], [4, $backoff]])));

        $results = array_map(PushResult::of(...), [['outcome' => 200, 'code' => 0, 'job' => 42], ['outcome' => 0, 'code' => 0, 'job' => 43]]);
        $error = $results[0]->error();
        self::assertInstanceOf(OutcomeUnknown::class, $error);
        self::assertStringContainsString('job 42', $error->getMessage());
        self::assertTrue($error->mayBeApplied);
        self::assertSame([PushOutcome::Refused, 42], [$results[0]->outcome, $results[0]->job]);
        self::assertNull($results[1]->error());
    }

    public function testAFilterCannotAskForWhatIsUnknown(): void
    {
        $this->expectException(UsageError::class);
        new Filter(states: [JobState::Unknown]);
    }
}
