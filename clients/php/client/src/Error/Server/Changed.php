<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is no longer of the version that the request names. What to do: look at the job again, and decide anew. */
final class Changed extends ServerError
{
}
