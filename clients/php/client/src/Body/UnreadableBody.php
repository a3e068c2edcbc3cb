<?php

declare(strict_types=1);

namespace Adjourn\Body;

use Adjourn\Error\AdjournException;

/** A body is not what its content type says. */
final class UnreadableBody extends \UnexpectedValueException implements AdjournException
{
}
