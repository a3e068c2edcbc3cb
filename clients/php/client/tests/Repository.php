<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** Where the tests find the specification and the server. */
final class Repository
{
    public static function file(string $name): string
    {
        for ($folder = __DIR__; $folder !== '/'; $folder = dirname($folder)) {
            if (is_file("$folder/$name")) {
                return "$folder/$name";
            }
        }
        throw new \RuntimeException("There is no $name above " . __DIR__ . '.');
    }

    public static function server(): string
    {
        return self::findServer() ?? throw new \RuntimeException('There is no server: set ADJOURN_BIN, or build one with cargo build --release.');
    }

    public static function findServer(): ?string
    {
        $named = getenv('ADJOURN_BIN');
        if ($named !== false && $named !== '') {
            return $named;
        }
        for ($folder = __DIR__; $folder !== '/'; $folder = dirname($folder)) {
            foreach (['release', 'debug'] as $profile) {
                if (is_executable("$folder/target/$profile/adjourn")) {
                    return "$folder/target/$profile/adjourn";
                }
            }
        }

        return null;
    }

    /** @return iterable<string, array{string}> every frame of protocol.md */
    public static function frames(): iterable
    {
        preg_match_all('/^```frame (request|response)\n(.*?)^```/ms', file_get_contents(self::file('protocol.md')), $found, PREG_SET_ORDER);
        foreach ($found as $number => [, $side, $text]) {
            $hex = '';
            foreach (explode("\n", $text) as $line) {
                if (!str_starts_with($line, '=')) {
                    $hex .= preg_replace('/#.*|\s/', '', $line);
                }
            }
            yield "$side $number" => [hex2bin($hex)];
        }
    }
}
