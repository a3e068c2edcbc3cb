<?php

declare(strict_types=1);

namespace {
    require __DIR__ . '/../../client/tests/bootstrap.php';
    // PSR-4 without Composer: the tests need no network.
    spl_autoload_register(static function (string $class): void {
        foreach (['Adjourn\\Messenger\\Tests\\' => __DIR__, 'Adjourn\\Messenger\\' => __DIR__ . '/../src'] as $prefix => $folder) {
            if (str_starts_with($class, $prefix)) {
                $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
                if (is_file($file)) {
                    require $file;

                    return;
                }
            }
        }
    }, prepend: true);
    require_once 'Symfony/Component/Console/autoload.php';
    require_once 'Symfony/Component/Messenger/autoload.php';
    require_once 'Symfony/Component/EventDispatcher/autoload.php';
}

namespace Symfony\Component\Messenger\Transport\Receiver {
    use Symfony\Component\Messenger\Envelope;

    if (!interface_exists(KeepaliveReceiverInterface::class)) {
        /** As Symfony 7.2 has it. */
        interface KeepaliveReceiverInterface extends ReceiverInterface
        {
            public function keepalive(Envelope $envelope, ?int $seconds = null): void;
        }
    }
}
