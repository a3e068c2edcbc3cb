<?php

declare(strict_types=1);

namespace Adjourn\Benches;

// Predis 1.1 and Pheanstalk 4 are from before PHP 8.2: their deprecations are not ours.
error_reporting(E_ALL & ~E_DEPRECATED);
require 'Psr/Log/autoload.php';
foreach (['Predis/autoload.php', 'Pheanstalk/autoload.php'] as $peer) {
    if (stream_resolve_include_path($peer) !== false) {
        require $peer;
    }
}
spl_autoload_register(static function (string $class): void {
    foreach (['Adjourn\\Benches\\' => __DIR__, 'Adjourn\\' => __DIR__ . '/../client/src'] as $prefix => $folder) {
        $file = $folder . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;

            return;
        }
    }
});

const HANDLERS = 8;
const USUAL = 'push-one push-many work';
/** Each system: what it needs to run, whether its library is there, how it is made from an address and a name, and what it does. */
$systems = [
    'adjourn' => ['adjourn', true, static fn (string $address, string $name) => new AdjournSystem($address, $name)],
    'http' => ['adjourn-http', true, static fn (string $address, string $name) => new HttpSystem($address, $name), 'web-request'],
    'phpredis' => ['redis', extension_loaded('redis'), static fn (string $address, string $name) => new PhpRedisSystem($address, $name)],
    'predis' => ['redis', class_exists(\Predis\Client::class), static fn (string $address, string $name) => new PredisSystem($address, $name)],
    'pheanstalk' => [
        'beanstalkd', class_exists(\Pheanstalk\Pheanstalk::class), static fn (string $address, string $name) => new PheanstalkSystem($address, $name),
    ],
];
$systems = array_filter($systems, static fn (array $system): bool => $system[1]);
[, $command, $name, $work, $address, $jobs] = $argv + array_fill(0, 6, '');

if ($command === 'systems') {
    foreach ($systems as $name => $system) {
        echo "$name $system[0] ", $system[3] ?? USUAL . ' web-request', "\n";
    }
    exit(0);
}
$isRun = $command === 'run' && isset($systems[$name]) && preg_match('/^[1-9][0-9]*$/D', $jobs) === 1;
if (!$isRun || !in_array($work, ['push-one', 'push-many', 'work', 'web-request'], true)) {
    fwrite(STDERR, "bench systems\nbench run NAME push-one|push-many|work|web-request HOST:PORT JOBS\n");
    exit(2);
}
$jobs = (int) $jobs;
$topic = "bench-$work-" . bin2hex(random_bytes(4));
$make = static fn (): System => $systems[$name][2]($address, $topic);

if ($work === 'work' && !extension_loaded('pcntl')) {
    fwrite(STDERR, "Eight handlers need the extension pcntl.\n");
    exit(77);
}
if ($work === 'work') {
    $system = $make();
    $system->connect();
    $system->fill($jobs);
    unset($system);
}
$system = $work === 'work' ? null : $make();
$system?->connect();
$cpu = static fn (array $usage): float => $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
$cpuBefore = $cpu(getrusage());
$start = hrtime(true);
match ($work) {
    'push-one' => $system->pushOne($jobs),
    'push-many' => $system->pushMany($jobs),
    'web-request' => webRequests($jobs, $make),
    'work' => Handlers::run(HANDLERS, static fn () => $make()->work()),
};
$seconds = (hrtime(true) - $start) / 1e9;
$cpuSeconds = $cpu(getrusage()) - $cpuBefore;
$left = $make()->left();
$expected = $work === 'work' ? 0 : $jobs;
if ($left !== $expected) {
    fwrite(STDERR, "$name $work: $left jobs are in the queue at the end, and not $expected.\n");
    exit(1);
}
echo json_encode(['system' => $name, 'work' => $work, 'jobs' => $jobs, 'seconds' => round($seconds, 6), 'cpu_us_per_job' => round(1e6 * $cpuSeconds / $jobs, 1)]), "\n";

/** Each connects, pushes one job and leaves. */
function webRequests(int $jobs, \Closure $make): void
{
    for (; $jobs > 0; --$jobs) {
        $make()->pushOne(1);
    }
}
