<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

use Adjourn\Limit;

use function strlen;
use function substr;

/** Cuts a stream of bytes into frames. Holds at most one frame and what one read brought. */
final class FrameBuffer
{
    private string $bytes = '';
    private int $at = 0;

    public function __construct(private readonly int $lengthMax = Limit::RESPONSE_BYTES_MAX)
    {
    }

    public function append(string $bytes): void
    {
        if ($this->at > 0) {
            $this->bytes = substr($this->bytes, $this->at);
            $this->at = 0;
        }
        $this->bytes .= $bytes;
    }

    /**
     * The next frame without its length field, or null if it is not there yet.
     *
     * @throws Malformed if the length is not allowed
     */
    public function next(): ?string
    {
        $here = strlen($this->bytes) - $this->at;
        if ($here < Codec::LENGTH_BYTES) {
            return null;
        }
        $length = unpack('V', $this->bytes, $this->at)[1];
        if ($length < Codec::HEAD_BYTES || $length > $this->lengthMax) {
            throw new Malformed("A frame of $length bytes is not allowed.");
        }
        if ($here < Codec::LENGTH_BYTES + $length) {
            return null;
        }
        $frame = substr($this->bytes, $this->at + Codec::LENGTH_BYTES, $length);
        $this->at += Codec::LENGTH_BYTES + $length;

        return $frame;
    }

    /** Whether a frame has begun and not ended. */
    public function isInsideFrame(): bool
    {
        return strlen($this->bytes) > $this->at;
    }
}
