<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The server is stopping. What to do: connect again, here or to another member. */
final class Stopping extends ServerError
{
}
