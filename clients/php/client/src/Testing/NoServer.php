<?php

declare(strict_types=1);

namespace Adjourn\Testing;

use Adjourn\Error\AdjournException;

/** The server for tests did not start: the message says what to install or to set. */
final class NoServer extends \RuntimeException implements AdjournException
{
}
