<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ErrorReply;
use Adjourn\Options;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Opcode;

/** HELLO and its answer. */
final readonly class Greeting
{
    private const LEASES_OUTLIVE = 1;
    private const NO_SESSION = 2;

    public function __construct(
        private Options $options,
        private Clock $clock,
    ) {
    }

    public function await(Wire $wire, int $until): Welcome|ErrorReply|null
    {
        while (($now = $this->clock->nowMs()) < $until && !$wire->hasEnded()) {
            $wire->flush();
            $wire->wait($until - $now);
            $wire->receive();
            while (($frame = $wire->nextFrame()) !== null) {
                $message = Codec::decode($frame);
                if ($message?->opcode === Opcode::Welcome) {
                    return Welcome::of($message->fields);
                }
                if ($message?->opcode === Opcode::Error && in_array($message->requestId, [0, Calls::HELLO_ID], true)) {
                    return ErrorReply::of($message->fields);
                }
            }
        }

        return null;
    }

    /** The frame. */
    public function hello(?Welcome $last, bool $wantsSession): string
    {
        return Codec::encode(Opcode::Hello, Calls::HELLO_ID, [
            'magic' => 'ADJ1',
            'version_min' => 1,
            'version_max' => 1,
            'options' => ($this->options->leasesOutlive ? self::LEASES_OUTLIVE : 0) | ($wantsSession ? 0 : self::NO_SESSION),
            'heartbeat_ms' => $this->options->heartbeatMs,
            'session' => $last?->session ?? 0,
            'secret' => $last?->secret ?? str_repeat("\0", 16),
            'client_name' => $this->options->clientName,
            'token' => $this->options->token,
        ]);
    }
}
