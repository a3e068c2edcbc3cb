<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\Error\AdjournException;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Transport\Receiver\KeepaliveReceiverInterface;

/** For Symfony 7.2 and later: `messenger:consume --keepalive` touches the job of a long message from an alarm. */
final class KeepaliveTransport extends AdjournTransport implements KeepaliveReceiverInterface
{
    public function keepalive(Envelope $envelope, ?int $seconds = null): void
    {
        if ($this->client->session()->isBusy()) {
            // The alarm has interrupted a request, maybe between two halves of its frame. The next alarm comes soon.
            return;
        }
        try {
            $this->received($envelope)->job?->touch();
        } catch (AdjournException $error) {
            throw new TransportException($error->getMessage(), 0, $error);
        }
    }
}
