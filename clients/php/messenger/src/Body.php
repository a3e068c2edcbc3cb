<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Symfony\Component\Messenger\Exception\MessageDecodingFailedException;

/**
 * An encoded envelope as the body of a job. Symfony's headers go into the body: stamps of errors are longer than the
 * headers of a job may be.
 */
final class Body
{
    /** @param array{body: string, headers?: array<string, string>} $encoded */
    public static function pack(array $encoded): string
    {
        $isText = preg_match('//u', $encoded['body']) === 1;

        return json_encode([
            'body' => $isText ? $encoded['body'] : base64_encode($encoded['body']),
            'headers' => (object) ($encoded['headers'] ?? []),
        ] + ($isText ? [] : ['base64' => true]), JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    }

    /** @return array{body: string, headers: array<string, string>} */
    public static function unpack(string $body): array
    {
        $packed = json_decode($body, true);
        if (!is_array($packed) || !is_string($packed['body'] ?? null) || !is_array($packed['headers'] ?? null)) {
            throw new MessageDecodingFailedException('The body of the job is no message of Messenger.');
        }
        $text = ($packed['base64'] ?? false) === true ? base64_decode($packed['body'], true) : $packed['body'];
        if ($text === false) {
            throw new MessageDecodingFailedException('The body of the message is no base64.');
        }

        return ['body' => $text, 'headers' => $packed['headers']];
    }
}
