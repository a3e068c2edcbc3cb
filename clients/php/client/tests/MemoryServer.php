<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Connection\Address;
use Adjourn\Connection\Dialer;
use Adjourn\Connection\Transport;
use Adjourn\Tests\Protocol\ServerCodec;
use Adjourn\Protocol\FrameBuffer;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;

/** A server in the memory of the test, with one connection. It answers at once, and its clock moves only while the client waits. */
final class MemoryServer implements Dialer, Transport
{
    public readonly TestClock $clock;
    private readonly FrameBuffer $input;
    private string $output = '';
    /** @var list<Message> all that came */
    public array $requests = [];
    /** @var array<int, string> frames to send, by their time */
    private array $later = [];

    /** @param \Closure(Message, self): void $answer gets each request but HELLO and PING */
    public function __construct(private readonly \Closure $answer)
    {
        $this->clock = new TestClock();
        $this->input = new FrameBuffer();
    }

    public function send(Opcode $opcode, int $id, array $fields = []): void
    {
        $this->output .= ServerCodec::encode($opcode, $id, $fields);
    }

    /** Sends it when the clock has moved by so much. */
    public function later(int $afterMs, Opcode $opcode, int $id, array $fields = []): void
    {
        $this->later[$this->clock->nowMs() + $afterMs] = ServerCodec::encode($opcode, $id, $fields);
    }

    public function dial(Address $address, int $timeoutMs): Transport
    {
        return $this;
    }

    public function read(): string
    {
        [$bytes, $this->output] = [$this->output, ''];

        return $bytes;
    }

    public function write(string $bytes): int
    {
        $this->input->append($bytes);
        while (($frame = $this->input->next()) !== null) {
            $request = $this->requests[] = ServerCodec::decode($frame);
            match ($request->opcode) {
                Opcode::Hello => $this->send(Opcode::Welcome, $request->requestId, Peer::welcome()),
                Opcode::Ping => $this->send(Opcode::Pong, $request->requestId, ['now' => 1, 'clock_ms' => 1 + $this->clock->nowMs()]),
                default => ($this->answer)($request, $this),
            };
        }

        return strlen($bytes);
    }

    public function wait(bool $toWrite, int $ms): void
    {
        if (!$toWrite && $this->output === '') {
            $this->clock->advance($ms);
        }
        foreach ($this->later as $atMs => $frame) {
            if ($atMs <= $this->clock->nowMs()) {
                $this->output .= $frame;
                unset($this->later[$atMs]);
            }
        }
    }

    public function close(): void
    {
    }
}
