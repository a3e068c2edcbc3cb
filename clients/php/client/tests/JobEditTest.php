<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Attributes;
use Adjourn\Backoff;
use Adjourn\Body\JsonCodec;
use Adjourn\Due;
use Adjourn\Error\UsageError;
use Adjourn\JobEdit;
use Adjourn\Limit;
use Adjourn\NewJob;
use Adjourn\Protocol\JobFrames;
use Adjourn\Unedited;
use PHPUnit\Framework\TestCase;

/** What an edit sends: the parts that are given, each as a push encodes it. */
final class JobEditTest extends TestCase
{
    private const JSON = ['content-type' => 'application/json'];

    /** @return iterable<string, array{string, array<string, mixed>}> a part in the protocol, and arguments that change it */
    public static function parts(): iterable
    {
        $at = new \DateTimeImmutable('@2000000000');
        yield 'a delay' => ['DUE', ['delayMs' => 0]];
        yield 'a time' => ['DUE', ['at' => $at]];
        yield 'a priority' => ['PRIORITY', ['priority' => 0]];
        yield 'no priority' => ['PRIORITY', ['unset' => ['priority']]];
        yield 'a ttr' => ['TTR', ['ttrMs' => 100]];
        yield 'no ttr' => ['TTR', ['unset' => ['ttrMs']]];
        yield 'a text' => ['BODY', ['body' => '']];
        yield 'null' => ['BODY', ['body' => null]];
        yield 'headers' => ['HEADERS', ['headers' => ['a' => 'b']]];
        yield 'no headers' => ['HEADERS', ['unset' => ['headers']]];
        yield 'an expiry after' => ['EXPIRES', ['expiresAfterMs' => 5]];
        yield 'an expiry at' => ['EXPIRES', ['expiresAt' => $at]];
        yield 'no expiry after' => ['EXPIRES', ['unset' => ['expiresAfterMs']]];
        yield 'no expiry at' => ['EXPIRES', ['unset' => ['expiresAt', 'expiresAfterMs']]];
        yield 'attempts' => ['ATTEMPTS_MAX', ['attemptsMax' => NewJob::ATTEMPTS_UNLIMITED]];
        yield 'no attempts' => ['ATTEMPTS_MAX', ['unset' => ['attemptsMax']]];
        yield 'a backoff' => ['BACKOFF', ['backoff' => Backoff::fixed(1)]];
        yield 'no backoff' => ['BACKOFF', ['unset' => ['backoff']]];
        yield 'a retention' => ['DEDUPE_RETENTION', ['retentionMs' => 5]];
        yield 'no retention' => ['DEDUPE_RETENTION', ['unset' => ['retentionMs']]];
        yield 'a group' => ['GROUP', ['group' => 'ann']];
        yield 'no group' => ['GROUP', ['unset' => ['group']]];
    }

    /**
     * @dataProvider parts
     * @param array<string, mixed> $arguments
     */
    public function testEachPartIsEditedAlone(string $part, array $arguments): void
    {
        self::assertSame(constant(JobFrames::class . "::EDITED_$part"), self::fields(...$arguments)['edited']);
    }

    public function testEachPartOfTheSchemaCanBeEdited(): void
    {
        $names = preg_grep('/^EDITED_/', array_keys((new \ReflectionClass(JobFrames::class))->getConstants()));
        $edited = array_unique(array_column(iterator_to_array(self::parts()), 0));
        self::assertEqualsCanonicalizing($names, array_map(static fn (string $part): string => "EDITED_$part", $edited));
    }

    public function testAllPartsAreEncodedAsInAPush(): void
    {
        $arguments = [
            'body' => ['a' => 1], 'at' => new \DateTimeImmutable('@2000000000'), 'ttrMs' => 1000, 'priority' => 7, 'headers' => ['x' => 'y'],
            'expiresAfterMs' => 5000, 'attemptsMax' => 3, 'backoff' => Backoff::linear(1, 9, 20), 'retentionMs' => 60_000,
            'group' => 'ann',
        ];
        $pushed = (new NewJob(...$arguments))->fields(new JsonCodec());
        unset($pushed['key'], $pushed['if_exists']);
        self::assertEquals(['edited' => 1023] + $pushed, self::fields(...$arguments));
    }

    public function testWhatIsTakenAwayHasNoValue(): void
    {
        $fields = self::fields(unset: ['priority', 'ttrMs', 'headers', 'expiresAt', 'attemptsMax', 'backoff', 'retentionMs', 'group']);
        self::assertSame(1023 - JobFrames::EDITED_DUE - JobFrames::EDITED_BODY, $fields['edited']);
        self::assertSame([Limit::PRIORITY_UNSAID, 0, ''], [$fields['priority'], $fields['ttr_ms'], $fields['attributes']]);
    }

    public function testOneAttributeIsSetAndAnotherOneTakenAway(): void
    {
        $fields = self::fields(attemptsMax: 3, unset: ['expiresAfterMs']);
        self::assertSame(JobFrames::EDITED_ATTEMPTS_MAX | JobFrames::EDITED_EXPIRES, $fields['edited']);
        self::assertEquals(new Attributes(attemptsMax: 3), Attributes::decode($fields['attributes']));
        $fields = self::fields(expiresAt: new \DateTimeImmutable('@2000000000'));
        self::assertEquals(Due::atMs(2_000_000_000_000), Attributes::decode($fields['attributes'])->expires);
    }

    /** @return iterable<string, array{array<string, mixed>, string, array<string, string>}> arguments, body and headers */
    public static function bodies(): iterable
    {
        yield 'an array' => [['body' => ['a' => 1]], '{"a":1}', self::JSON];
        yield 'null is a value' => [['body' => null], 'null', self::JSON];
        yield 'a text' => [['body' => 'x'], 'x', []];
        yield 'an array and headers' => [['body' => [1], 'headers' => ['a' => 'b']], '[1]', ['a' => 'b'] + self::JSON];
        yield 'an array and no other headers' => [['body' => [1], 'unset' => ['headers']], '[1]', self::JSON];
        yield 'an array of a type of its own' => [['body' => [1], 'headers' => ['Content-Type' => 'own']], '[1]', ['Content-Type' => 'own']];
        yield 'a text and headers' => [['body' => 'x', 'headers' => ['a' => 'b']], 'x', ['a' => 'b']];
        yield 'headers alone' => [['headers' => ['a' => 'b']], '', ['a' => 'b']];
        yield 'no body' => [['body' => Unedited::Body, 'priority' => 3], '', []];
    }

    /**
     * @dataProvider bodies
     * @param array<string, mixed> $arguments
     * @param array<string, string> $headers
     */
    public function testTheContentTypeGoesWithTheBody(array $arguments, string $body, array $headers): void
    {
        $fields = self::fields(...$arguments);
        self::assertSame([$body, $headers], [$fields['body'], Attributes::decode($fields['attributes'])->headers]);
    }

    /** @return iterable<string, array{array<string, mixed>, string}> */
    public static function misuse(): iterable
    {
        yield 'nothing' => [[], 'at least one part'];
        yield 'only nulls' => [['priority' => null, 'headers' => null], 'at least one part'];
        yield 'two due times' => [['delayMs' => 1, 'at' => new \DateTimeImmutable()], 'not both'];
        yield 'a delay' => [['delayMs' => -1], 'ten years'];
        yield 'a ttr' => [['ttrMs' => 99], 'ttrMs goes from'];
        yield 'a NewJob' => [['body' => new NewJob('x')], 'is no NewJob'];
        yield 'a body that is no JSON' => [['body' => ["\xff"]], 'JSON'];
        yield 'two expiries' => [['expiresAfterMs' => 1, 'expiresAt' => new \DateTimeImmutable()], 'not both'];
        yield 'attempts' => [['attemptsMax' => 0], 'attemptsMax is at least 1'];
        yield 'large headers' => [['headers' => ['a' => str_repeat('x', 1024)]], 'at most 1024'];
        yield 'empty headers' => [['headers' => []], "write unset: ['headers']"];
        yield 'an empty retention' => [['retentionMs' => 0], "write unset: ['retentionMs']"];
        yield 'an empty group' => [['group' => ''], "write unset: ['group']"];
        yield 'a long group' => [['group' => str_repeat('x', 256)], 'A group has 1 to 255 bytes'];
        yield 'no due time' => [['unset' => ['delayMs']], '"delayMs" is no part of a job that can be taken away'];
        yield 'an unknown part' => [['unset' => ['expires']], '"expires" is no part'];
        yield 'both' => [['backoff' => Backoff::fixed(1), 'unset' => ['backoff']], 'at once'];
        yield 'both, by another name' => [['expiresAfterMs' => 1, 'unset' => ['expiresAt']], 'at once'];
    }

    /**
     * @dataProvider misuse
     * @param array<string, mixed> $arguments
     */
    public function testAWrongEditIsRefused(array $arguments, string $says): void
    {
        try {
            self::fields(...$arguments);
            self::fail('It was accepted.');
        } catch (UsageError $error) {
            self::assertStringContainsString($says, $error->getMessage());
        }
    }

    /** @return array<string, mixed> */
    private static function fields(mixed ...$arguments): array
    {
        return (new JobEdit(...$arguments))->fields(new JsonCodec());
    }
}
