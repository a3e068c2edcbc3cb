<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** The way to the leader: which addresses to try, in which order, and how long to wait between two rounds. Knows no socket and no clock. */
final class Search
{
    private const WAIT_MS_MIN = 50;
    /** What part of the time an address has in the first rounds, as a divisor. */
    private const SHARES = [1 => 4, 2 => 2];

    /** @var list<Address> */
    private array $members = [];
    /** @var array<string, Address> not tried yet in this round, in order */
    private array $ahead = [];
    /** @var array<string, true> tried in this round */
    private array $tried = [];
    /** @var array<string, true> did not answer when they were tried last */
    private array $silent = [];
    private int $rounds = 0;
    private ?Address $hint = null;
    private int $pauseMs = 0;
    private int $boundMs = self::WAIT_MS_MIN;
    /**
     * HELLOs that named a session and were given up without an answer. One that arrives late takes the session over from
     * this client's own newer connection.
     */
    private int $hellosGivenUp = 0;

    /** @param non-empty-list<Address> $configured */
    public function __construct(
        private readonly array $configured,
        private readonly int $waitMaxMs,
    ) {
    }

    /** @param list<string> $addresses of the members, as a server names them */
    public function learn(array $addresses): void
    {
        $members = array_values(array_filter(array_map(Address::ofMember(...), $addresses)));
        if ($members !== []) {
            $this->members = $members;
        }
    }

    public function hint(string $leader): void
    {
        $this->hint = Address::ofMember($leader) ?? $this->hint;
    }

    public function pause(int $ms): void
    {
        $this->pauseMs = max($this->pauseMs, $ms);
    }

    /**
     * The addresses of one round, each once; those that were silent come last. A hint that comes during the round is tried
     * next.
     *
     * @return iterable<Address>
     */
    public function round(): iterable
    {
        ++$this->rounds;
        $this->tried = [];
        $this->ahead = [];
        foreach ([...$this->configured, ...$this->members] as $address) {
            $this->ahead[(string) $address] ??= $address;
        }
        uksort($this->ahead, fn (string $a, string $b): int => isset($this->silent[$a]) <=> isset($this->silent[$b]));
        while (($address = $this->next()) !== null) {
            yield $address;
        }
    }

    /**
     * How long the address that came last may take, if the longest time is `limitMs`. While there are others, it has less in
     * the first rounds: a member that is stuck must not hide the leader.
     */
    public function patienceMs(int $limitMs): int
    {
        return max(1, intdiv($limitMs, $this->isAlone() ? 1 : self::SHARES[$this->rounds] ?? 1));
    }

    /** Whether this round has no other address than the one that came last. */
    public function isAlone(): bool
    {
        return count($this->tried) + count($this->ahead) === 1;
    }

    /** The address answered, even if only by refusing the connection. */
    public function answered(Address $address): void
    {
        unset($this->silent[(string) $address]);
    }

    /** Nothing came from this address in time. */
    public function silent(Address $address): void
    {
        $this->silent[(string) $address] = true;
    }

    /** How long to wait before the next round: the server's pause, and a random wait whose bound doubles. */
    public function waitMs(): int
    {
        $wait = $this->pauseMs + random_int(0, $this->boundMs);
        $this->pauseMs = 0;
        $this->boundMs = min(2 * $this->boundMs, max($this->waitMaxMs, self::WAIT_MS_MIN));

        return $wait;
    }

    /** A server welcomed the client. No HELLO that was given up can take a new session over. */
    public function found(bool $hasResumed): void
    {
        $this->boundMs = self::WAIT_MS_MIN;
        $this->pauseMs = 0;
        $this->hint = null;
        $this->rounds = 0;
        if (!$hasResumed) {
            $this->hellosGivenUp = 0;
        }
    }

    /** A HELLO that named a session got no answer, and may have been sent. */
    public function gaveUpHello(): void
    {
        ++$this->hellosGivenUp;
    }

    /** The session was taken over. Says whether a HELLO of this client may have done it; each does so once. */
    public function tookItselfOver(): bool
    {
        if ($this->hellosGivenUp === 0) {
            return false;
        }
        --$this->hellosGivenUp;

        return true;
    }

    private function next(): ?Address
    {
        $name = (string) $this->hint;
        if ($this->hint !== null && !isset($this->tried[$name])) {
            $others = array_diff_key($this->ahead, [$name => true]);
            // The server that gave the hint may not know yet that this address does not answer.
            $this->ahead = isset($this->silent[$name]) ? $others + [$name => $this->hint] : [$name => $this->hint] + $others;
            $this->hint = null;
        }
        $address = array_shift($this->ahead);
        if ($address !== null) {
            $this->tried[(string) $address] = true;
        }

        return $address;
    }
}
