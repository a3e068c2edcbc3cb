<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Error\AdjournException;

/** Thrown into a handler that runs for longer than maxRunMs. Its job is released as a failed attempt. */
final class RunTooLong extends \RuntimeException implements AdjournException
{
}
