<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** The way to the leader: which addresses to try, in which order, and how long to wait between two rounds. Knows no socket and no clock. */
final class Search
{
    private const WAIT_MS_MIN = 50;

    /** @var list<Address> */
    private array $members = [];
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

    /** The addresses of one round, each once. A hint that comes during the round is tried next. */
    public function round(): iterable
    {
        $tried = [];
        $left = [...$this->configured, ...$this->members];
        while (true) {
            $address = $this->hint !== null && !isset($tried[(string) $this->hint]) ? $this->hint : array_shift($left);
            $this->hint = $address === $this->hint ? null : $this->hint;
            if ($address === null) {
                return;
            }
            if (!isset($tried[(string) $address])) {
                $tried[(string) $address] = true;
                yield $address;
            }
        }
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
        if (!$hasResumed) {
            $this->hellosGivenUp = 0;
        }
    }

    /** A HELLO that named a session was sent and got no answer. */
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
}
