<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The server refused a request. Each code has a class; a code of a newer server comes as this class itself. */
class ServerError extends AdjournError
{
    /** @param int|null $job the job that is in the way, if the server names one */
    final public function __construct(
        public readonly ErrorReply $reply,
        public readonly ?int $job = null,
        ?\Throwable $previous = null,
    ) {
        $name = $reply->known()?->name ?? "Code $reply->code";
        $message = $reply->message === '' ? $name : "$name: $reply->message";
        parent::__construct($message, $reply->isRetryable, $reply->mayBeApplied, $reply->retryAfterMs, $previous);
    }

    public static function of(ErrorReply $reply, ?int $job = null): AdjournError
    {
        $code = $reply->known();
        if ($code === ErrorCode::OutcomeUnknown) {
            return new OutcomeUnknown($reply->message);
        }
        $class = $code === null ? self::class : __NAMESPACE__ . '\\Server\\' . $code->name;

        return new $class($reply, $job);
    }

    public function errorCode(): ?ErrorCode
    {
        return $this->reply->known();
    }
}
