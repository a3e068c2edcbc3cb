<?php

declare(strict_types=1);

namespace Adjourn\Harness;

/** The suite cancelled a `reserve` before a job came. */
final class Cancelled extends \RuntimeException
{
}
