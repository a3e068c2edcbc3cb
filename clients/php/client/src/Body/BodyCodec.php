<?php

declare(strict_types=1);

namespace Adjourn\Body;

/** Turns values into bodies and back. A string never comes here: it goes as it is, without a content type. */
interface BodyCodec
{
    /** @return array{string, string} the body, and its content type */
    public function encode(mixed $value): array;

    /** The value of a body with this content type; a body of an unknown type is returned as it is. */
    public function decode(string $body, ?string $contentType): mixed;
}
