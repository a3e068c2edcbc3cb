<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Tests\Protocol\ServerCodec;
use Adjourn\Protocol\FrameBuffer;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;

/** A connection of a scripted server. */
final class Peer
{
    private FrameBuffer $input;

    /** @param resource $stream */
    public function __construct(public $stream)
    {
        stream_set_timeout($stream, 30);
        stream_set_read_buffer($stream, 0);
        $this->input = new FrameBuffer();
    }

    /** The next request; null at the end of the stream. PING is answered, unless a script asks for it. */
    public function next(bool $pongs = true): ?Message
    {
        while (true) {
            while (($frame = $this->input->next()) === null) {
                $bytes = fread($this->stream, 65_536);
                if ($bytes === '' || $bytes === false) {
                    return null;
                }
                $this->input->append($bytes);
            }
            $message = ServerCodec::decode($frame);
            if ($message->opcode !== Opcode::Ping || !$pongs) {
                return $message;
            }
            $this->send(Opcode::Pong, $message->requestId, ['now' => 1, 'clock_ms' => 1]);
        }
    }

    /** @return list<string> */
    public function frames(string $bytes): array
    {
        $this->input->append($bytes);
        $frames = [];
        while (($frame = $this->input->next()) !== null) {
            $frames[] = $frame;
        }

        return $frames;
    }

    public function send(Opcode $opcode, int $id, array $fields = []): void
    {
        fwrite($this->stream, ServerCodec::encode($opcode, $id, $fields));
    }

    public function raw(string $bytes): void
    {
        fwrite($this->stream, $bytes);
    }

    public function error(int $id, int $code, int $marks = 0, int $applied = 0, int $retryAfterMs = 0, string $leader = ''): void
    {
        $this->send(Opcode::Error, $id, [
            'code' => $code, 'marks' => $marks, 'applied' => $applied, 'retry_after_ms' => $retryAfterMs,
            'leader' => $leader, 'message' => 'scripted',
        ]);
    }

    public static function welcome(array $fields = []): array
    {
        return $fields + [
            'version' => 1, 'marks' => 0, 'cluster_id' => str_repeat('c', 16), 'session' => 9, 'secret' => str_repeat('s', 16),
            'heartbeat_ms' => 3000, 'session_grace_ms' => 10_000, 'frame_bytes_max' => 1_114_112, 'body_bytes_max' => 1_048_576,
            'push_jobs_max' => 4096, 'leases_max' => 4096, 'reserve_jobs_max' => 1024, 'in_flight_max' => 1024,
            'server_name' => 'scripted', 'members' => [], 'clock_ms' => 1000,
        ];
    }

    /** A job in RESERVED or LEASED, under a lease of a minute. */
    public static function delivered(int $job, int $fence): array
    {
        return [
            'job' => $job, 'fence' => $fence, 'due_ms' => 1, 'priority' => 1, 'attempts' => 1, 'ttr_left_ms' => 60_000,
            'topic' => 't', 'key' => '', 'attributes' => '', 'body' => '', 'deadline_ms' => 0,
        ];
    }

    /** Reads HELLO and welcomes the client. */
    public function greet(array $fields = []): Message
    {
        $hello = $this->next();
        $this->welcomeTo($hello, $fields);

        return $hello;
    }

    /** Answers HELLO, without a session if it wants none. */
    public function welcomeTo(Message $hello, array $fields = []): void
    {
        $none = ($hello->fields['options'] & 2) !== 0 ? ['session' => 0, 'secret' => str_repeat("\0", 16)] : [];
        $this->send(Opcode::Welcome, $hello->requestId, self::welcome($fields + $none));
    }

    public function pushed(Message $push, int $job = 1): void
    {
        $results = array_map(static fn (): array => ['outcome' => 0, 'code' => 0, 'job' => $job], $push->fields['jobs']);
        $this->send(Opcode::Pushed, $push->requestId, ['results' => $results]);
    }

    public function close(): void
    {
        fclose($this->stream);
    }
}
