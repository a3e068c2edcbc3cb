<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** Marks every exception of this library. */
interface AdjournException extends \Throwable
{
}
