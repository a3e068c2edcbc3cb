<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job is reserved, and the request needs a job that is not. What to do: wait until it is settled. */
final class Reserved extends ServerError
{
}
