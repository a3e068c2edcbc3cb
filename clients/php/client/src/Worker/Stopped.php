<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Error\AdjournException;

/** Thrown into a handler that still runs when the time to stop is over. Its job is released as a failed attempt. */
final class Stopped extends \RuntimeException implements AdjournException
{
}
