<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ErrorReply;
use Adjourn\Options;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\ConnectionFrames;
use Adjourn\Protocol\Opcode;

/** HELLO and its answer. */
final readonly class Greeting
{
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
            'version_min' => Codec::PROTOCOL_VERSION,
            'version_max' => Codec::PROTOCOL_VERSION,
            'options' => ($this->options->leasesOutlive ? ConnectionFrames::HELLO_OPTIONS_LEASES_OUTLIVE : 0)
                | ($wantsSession ? 0 : ConnectionFrames::HELLO_OPTIONS_NO_SESSION),
            'heartbeat_ms' => $this->options->heartbeatMs,
            'session' => $last?->session ?? 0,
            'secret' => $last?->secret ?? Codec::NONE,
            'client_name' => $this->options->clientName,
            'token' => $this->options->token,
        ]);
    }
}
