<?php

declare(strict_types=1);

// PSR-4 without Composer: the tests need no network.
spl_autoload_register(static function (string $class): void {
    foreach (['Adjourn\\Tests\\' => __DIR__, 'Adjourn\\' => __DIR__ . '/../src'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;

                return;
            }
        }
    }
});
require_once 'Psr/Log/autoload.php';
// What is built here, for the tests that find their server as users do.
putenv('ADJOURN_BIN=' . Adjourn\Tests\Repository::findServer());
