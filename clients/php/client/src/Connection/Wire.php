<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ConnectionError;
use Adjourn\Protocol\FrameBuffer;

use function strlen;
use function substr;

/** One connection: its output, which is always whole frames until it is sent, and its input, cut into frames. */
final class Wire
{
    private string $output = '';
    /** Bytes that were ever put into the output. */
    public int $queuedBytes = 0;
    /** Bytes that the socket took. */
    public int $sentBytes = 0;
    private bool $hasEnded = false;
    /** Why it has ended, if that is known. */
    public ?ConnectionError $failure = null;
    /** The server has read nothing: it did not let this client in. */
    public bool $isRefused = false;

    public function __construct(
        private readonly Transport $transport,
        private readonly FrameBuffer $input = new FrameBuffer(),
    ) {
    }

    public function queue(string $frame): void
    {
        $this->output .= $frame;
        $this->queuedBytes += strlen($frame);
    }

    public function unsentBytes(): int
    {
        return strlen($this->output);
    }

    /** Sends what the socket takes. Says whether it took something; an error shows as the end of the stream. */
    public function flush(): bool
    {
        if ($this->output === '') {
            return false;
        }
        $sent = $this->transport->write($this->output);
        if ($sent === null) {
            // What the server said before it closed is still to be read.
            $this->output = '';

            return false;
        }
        $this->sentBytes += $sent;
        $this->output = substr($this->output, $sent);

        return $sent > 0;
    }

    /** Takes what has come. Says whether something came. */
    public function receive(): bool
    {
        try {
            $bytes = $this->transport->read();
        } catch (ConnectionError $failure) {
            $this->failure = $failure;
            $bytes = null;
        } catch (CertificateRefused $refusal) {
            $this->failure = new ConnectionError($refusal->getMessage(), $refusal);
            $this->isRefused = true;
            $bytes = null;
        }
        if ($bytes === null) {
            $this->hasEnded = true;

            return false;
        }
        if ($bytes !== '') {
            $this->input->append($bytes);
        }

        return $bytes !== '';
    }

    /** @throws \Adjourn\Protocol\Malformed */
    public function nextFrame(): ?string
    {
        return $this->input->next();
    }

    public function hasEnded(): bool
    {
        return $this->hasEnded;
    }

    public function wait(int $ms): void
    {
        $this->transport->wait($this->output !== '', max($ms, 0));
    }

    public function close(): void
    {
        $this->transport->close();
    }
}
