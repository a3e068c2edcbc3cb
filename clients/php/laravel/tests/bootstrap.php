<?php

declare(strict_types=1);

require __DIR__ . '/../../client/tests/bootstrap.php';
// PSR-4 without Composer: the tests need no network.
spl_autoload_register(static function (string $class): void {
    foreach (['Adjourn\\Laravel\\Tests\\' => __DIR__, 'Adjourn\\Laravel\\' => __DIR__ . '/../src'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;

                return;
            }
        }
    }
}, prepend: true);
// This version of Laravel is from before PHP 8.2: its deprecations are not ours.
error_reporting(E_ALL & ~E_DEPRECATED);
require_once 'Illuminate/Queue/autoload.php';
require_once 'Illuminate/Events/autoload.php';
require_once 'Illuminate/Bus/autoload.php';
require_once 'Illuminate/Cache/autoload.php';

if (!function_exists('dispatch')) {
    /** What Laravel's foundation does with the next job of a chain. */
    function dispatch(object $job): mixed
    {
        return Illuminate\Container\Container::getInstance()->make(Illuminate\Contracts\Bus\Dispatcher::class)->dispatch($job);
    }
}
