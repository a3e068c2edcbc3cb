<?php

declare(strict_types=1);

namespace Adjourn\Body;

use Adjourn\Error\UsageError;

/** JSON. Objects are decoded to arrays, and integers that do not fit an int to strings. */
final class JsonCodec implements BodyCodec
{
    public const CONTENT_TYPE = 'application/json';

    public function encode(mixed $value): array
    {
        try {
            $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION;

            return [json_encode($value, $flags), self::CONTENT_TYPE];
        } catch (\JsonException $error) {
            throw new UsageError('The body cannot be encoded as JSON: ' . $error->getMessage(), 0, $error);
        }
    }

    public function decode(string $body, ?string $contentType): mixed
    {
        $type = strtolower(trim(explode(';', $contentType ?? '')[0]));
        if ($type !== self::CONTENT_TYPE && !str_ends_with($type, '+json')) {
            return $body;
        }
        try {
            return json_decode($body, true, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
        } catch (\JsonException $error) {
            throw new UnreadableBody('The body is no JSON: ' . $error->getMessage(), 0, $error);
        }
    }
}
