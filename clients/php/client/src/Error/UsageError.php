<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** The caller asked for something that cannot be: fix the calling code. Nothing was sent. */
final class UsageError extends \InvalidArgumentException implements AdjournException
{
}
