<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The lease has ended. What to do: drop the work; another consumer may have the job. */
final class StaleLease extends ServerError
{
}
