<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ErrorCode;
use Adjourn\Error\ErrorReply;
use Adjourn\Error\ProtocolError;
use Adjourn\Error\ServerError;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Psr\Log\LoggerInterface;

use function count;
use function strlen;

/** What the server's answers mean for the calls, the subscriptions and the leases of a session. */
final class Answers
{
    private const RETRY_MS_MIN = 50;
    private const RETRY_MS_MAX = 1000;

    /** @var array<int, Opcode> the answer to each request that was made, by its opcode */
    private array $expected = [];

    public function __construct(
        private readonly Calls $calls,
        private readonly Feeds $feeds,
        private readonly Holdings $holdings,
        private readonly LeaseClock $leases,
        private readonly Search $search,
        private readonly Clock $clock,
        private readonly LoggerInterface $logger,
    ) {
    }

    /** Takes any frame but GOING_AWAY. */
    public function take(Message $message, Link $link): void
    {
        $call = $this->calls->get($message->requestId);
        if ($message->opcode === Opcode::Deliver) {
            $feed = $this->feeds->of($message->requestId);
            if ($feed !== null) {
                $this->prove($message, $feed->sentMs);
                array_push($feed->jobs, ...$this->holdings->receive($message->fields['jobs'], $this->clock->nowMs()));
            }

            return;
        }
        if ($message->opcode === Opcode::Error) {
            $reply = ErrorReply::of($message->fields);
            if ($call !== null && $call->isOnWire) {
                $this->refused($call, $reply, $link);
            } elseif (($feed = $this->feeds->of($message->requestId)) !== null) {
                $this->feeds->refused($feed, $reply) && $this->moveOn($reply, $link);
            } else {
                $this->logger->warning("adjourn: the server says: $reply->message");
            }

            return;
        }
        if ($call === null || !$call->isOnWire) {
            return;
        }
        if ($message->opcode !== $this->expected[$call->opcode->value] ??= $call->opcode->answer()) {
            $this->calls->fail($call, new ProtocolError("{$call->opcode->name} was answered with {$message->opcode->name}."));

            return;
        }
        $this->prove($message, $call->sentMs);
        if ($message->opcode !== Opcode::Pong) {
            $link->moved();
        }
        $this->answered($call, $message->fields, $link);
    }

    /** A frame came that cannot be decoded. It costs its request alone. */
    public function cannotDecode(string $frame, Malformed $error): void
    {
        $id = strlen($frame) < Codec::HEAD_BYTES ? 0 : unpack('V', $frame, 4)[1];
        $call = $this->calls->get($id);
        $this->logger->error('adjourn: a frame cannot be decoded: ' . $error->getMessage());
        if ($call !== null && $call->isOnWire) {
            $this->calls->fail($call, new ProtocolError($error->getMessage(), $error));
        }
    }

    private function prove(Message $message, int $sentMs): void
    {
        $isEmpty = ($message->opcode === Opcode::Reserved || $message->opcode === Opcode::Deliver) && $message->fields['jobs'] === [];
        if (!$isEmpty && $message->opcode->isProof()) {
            $this->leases->proven($sentMs);
        }
        if ($message->opcode === Opcode::Pong) {
            $this->leases->showsClock($sentMs, $message->fields['clock_ms']);
        }
    }

    /** @param array<string, mixed> $answer */
    private function answered(Call $call, array $answer, Link $link): void
    {
        $this->calls->done($call);
        $items = match ($call->opcode) {
            Opcode::Push => 'jobs',
            Opcode::Finish, Opcode::Release, Opcode::Touch, Opcode::Bury => 'leases',
            default => null,
        };
        if ($items !== null && count($answer['results']) !== count($call->fields[$items])) {
            $call->isDone || $call->fail(new ProtocolError("{$call->opcode->name} got an answer for another number of $items."));

            return;
        }
        switch ($call->opcode) {
            case Opcode::Push:
                break;
            case Opcode::Reserve:
                if ($call->isAbandoned) {
                    $this->holdings->giveBack($answer['jobs']);

                    return;
                }
                $answer['jobs'] = $this->holdings->receive($answer['jobs'], $this->clock->nowMs());
                if ($answer['jobs'] === [] && $this->waitsOn($call, $link)) {
                    return;
                }
                break;
            case Opcode::Leases:
                if ($call->isOwn) {
                    $this->holdings->shown($answer);

                    return;
                }
                $answer['jobs'] = $this->holdings->receive($answer['jobs'], $this->clock->nowMs());
                break;
            case Opcode::Finish:
            case Opcode::Release:
            case Opcode::Bury:
                $this->holdings->settled($call->fields['leases']);
                break;
            case Opcode::Subscribe:
                $feed = $this->feeds->of($call->id);
                if ($feed !== null) {
                    $feed->stands = true;
                }
                break;
            case Opcode::ClusterStatus:
                $this->search->learn(array_column($answer['members'], 'client_address'));
                break;
            default:
        }
        $answer['copies'] = $call->copies;
        if (!$call->isDone) {
            $call->fulfil($answer);
        }
    }

    /**
     * No job came that is the client's own. A server may end a wait early: asks again with the rest of it. Says whether there is
     * a rest.
     */
    private function waitsOn(Call $reserve, Link $link): bool
    {
        $now = $this->clock->nowMs();
        $untilMs = $reserve->madeMs + $reserve->waitMs;
        if ($reserve->isDone || $reserve->isCancelled || $now >= $untilMs) {
            return false;
        }
        // A server that always answers at once is not asked at once. The next connection has a wait of its own.
        $reserve->notBeforeMs = $link->isDraining() ? 0 : min($now + $this->growingWaitMs($reserve), $untilMs);
        $this->calls->open[$reserve->id] = $reserve;

        return true;
    }

    private function refused(Call $call, ErrorReply $reply, Link $link): void
    {
        $call->isOnWire = false;
        $call->mayBeApplied = $call->mayBeApplied || $reply->mayBeApplied;
        $code = $reply->known();
        $movesOn = $reply->movesOn();
        if ($call->opcode === Opcode::Goodbye || $call->isOfConnection() || ($call->isOwn && !$movesOn)) {
            $this->refusedOwn($call, $reply);
            if ($movesOn && $call->opcode !== Opcode::Goodbye) {
                $this->moveOn($reply, $link);
            }

            return;
        }
        $feed = $call->opcode === Opcode::Subscribe ? $this->feeds->of($call->id) : null;
        if ($movesOn) {
            $this->moveOn($reply, $link);
            if ($feed !== null) {
                $this->calls->done($call);
                $feed->id = null;

                return;
            }
        }
        if ($reply->mayBeApplied && !$call->isRepeatable()) {
            $this->calls->fail($call, Calls::outcomeUnknown($call, $reply->message));
        } elseif ($movesOn) {
            $call->error = null;
            if ($call->isAbandoned) {
                $this->calls->done($call);
            }
        } elseif ($code === ErrorCode::Busy || ($code === null && $reply->isRetryable)) {
            $this->tryLater($call, $reply);
        } else {
            $error = $call->mayBeApplied && $call->opcode === Opcode::Push
                ? Calls::outcomeUnknown($call, $reply->message)
                : ServerError::of($reply);
            if ($feed !== null) {
                $this->feeds->remove($feed);
                $feed->error = $error;
            }
            $this->calls->fail($call, $error);
        }
    }

    /** Of a call about the connection itself, or one that nobody waits for. */
    private function refusedOwn(Call $call, ErrorReply $reply): void
    {
        $this->calls->done($call);
        $call->isOwn || $call->opcode === Opcode::Goodbye
            ? $call->fulfil([])
            : $call->fail(ServerError::of($reply));
        if ($reply->known() === ErrorCode::Unsupported && $call->opcode === Opcode::Leases) {
            $this->holdings->trustAll();
        }
    }

    /** Waits, and sends the same again. If there is no time for that, the caller gets the server's answer. */
    private function tryLater(Call $call, ErrorReply $reply): void
    {
        $call->notBeforeMs = $this->clock->nowMs() + max($reply->retryAfterMs, $this->growingWaitMs($call));
        if ($call->isAbandoned || $call->notBeforeMs >= $call->deadlineMs) {
            $this->calls->fail($call, $call->mayBeApplied && !$call->isRead()
                ? Calls::outcomeUnknown($call, $reply->message)
                : ServerError::of($reply));

            return;
        }
        $call->error = null;
    }

    private function growingWaitMs(Call $call): int
    {
        return random_int(0, min(self::RETRY_MS_MIN << min($call->refusals++, 10), self::RETRY_MS_MAX));
    }

    /** The server sends the client to another one. */
    private function moveOn(ErrorReply $reply, Link $link): void
    {
        $this->search->hint($reply->leader);
        $this->search->pause($reply->retryAfterMs);
        $link->drain('the server sent this client away');
    }
}
