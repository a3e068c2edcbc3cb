<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Connection\Address;
use Adjourn\Connection\Search;
use Adjourn\Connection\Servers;
use PHPUnit\Framework\TestCase;

/** The order of addresses, and the time that each of them has. */
final class SearchTest extends TestCase
{
    public function testHintsComeFirstAndNoAddressTwice(): void
    {
        $search = self::search('a:1,b:1');
        $search->learn(['10.0.0.2:1', '0.0.0.0:1', 'b:1', '[::]:1', '']);
        $search->hint('b:1');
        self::assertSame(['b:1', 'a:1', '10.0.0.2:1'], self::rest($search->round()));
        self::assertSame(['a:1', 'b:1', '10.0.0.2:1'], self::rest($search->round()));
    }

    public function testTheLeaderThatAServerNamesIsNextAndOnceARound(): void
    {
        $search = self::search('a:1,b:1,c:1');
        $tried = [];
        foreach ($search->round() as $address) {
            $tried[] = (string) $address;
            // Two that point at each other end the round.
            $search->hint((string) $address === 'c:1' ? 'a:1' : 'c:1');
        }
        self::assertSame(['a:1', 'c:1', 'b:1'], $tried);
        self::assertSame(['c:1', 'a:1', 'b:1'], self::rest($search->round()));
    }

    public function testAnAddressThatWasSilentIsTriedLastUntilItAnswers(): void
    {
        $a = Address::parse('a:1');
        $search = self::search('a:1,b:1,c:1');
        $search->silent($a);
        self::assertSame(['b:1', 'c:1', 'a:1'], self::rest($search->round()));
        $search->hint('a:1');
        self::assertSame(['b:1', 'c:1', 'a:1'], self::rest($search->round()), 'A stale hint does not bring it forward.');
        $search->answered($a);
        self::assertSame(['a:1', 'b:1', 'c:1'], self::rest($search->round()));
    }

    public function testPatienceGrowsFromRoundToRoundAndOneAddressGetsAllOfIt(): void
    {
        $patience = static function (Search $search): int {
            foreach ($search->round() as $address) {
                break;
            }

            return $search->patienceMs(4000);
        };
        $search = self::search('a:1,b:1');
        self::assertSame([1000, 2000, 4000, 4000], array_map($patience, array_fill(0, 4, $search)));
        $search->found(hasResumed: true);
        self::assertSame(1000, $patience($search));
        self::assertSame(4000, $patience(self::search('a:1')));
    }

    public function testEachHelloThatWasGivenUpMayTakeTheSessionOverOnce(): void
    {
        $search = self::search('a:1');
        self::assertFalse($search->tookItselfOver(), 'Another process did.');
        $search->gaveUpHello();
        $search->gaveUpHello();
        $search->found(hasResumed: true);
        self::assertSame([true, true, false], [$search->tookItselfOver(), $search->tookItselfOver(), $search->tookItselfOver()]);
        $search->gaveUpHello();
        $search->found(hasResumed: false);
        self::assertFalse($search->tookItselfOver(), 'It named a session that is gone.');
    }

    private static function search(string $configured): Search
    {
        return new Search(Servers::parse($configured)->addresses, 1000);
    }

    /** @return list<string> */
    private static function rest(iterable $round): array
    {
        return array_map(strval(...), iterator_to_array($round, false));
    }
}
