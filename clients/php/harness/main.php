<?php

declare(strict_types=1);

namespace Adjourn\Harness;

require 'Psr/Log/autoload.php';
spl_autoload_register(static function (string $class): void {
    foreach (['Adjourn\\Harness\\' => __DIR__, 'Adjourn\\Tests\\' => __DIR__ . '/../client/tests', 'Adjourn\\' => __DIR__ . '/../client/src'] as $prefix => $folder) {
        $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;

            return;
        }
    }
});

$loop = new Loop();
$commands = new Commands($loop);
$isTold = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, static function () use (&$isTold): void {
    $isTold = true;
});
$loop->run(
    static fn (array $command) => $loop->say($commands->run($command)),
    static function () use (&$isTold): bool {
        return $isTold;
    },
);
if ($isTold) {
    $loop->finish($commands->stop(...), 6000);
}
exit(0);
