<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** Every requested topic is paused. What to do: RESUME one, or wait. */
final class Paused extends ServerError
{
}
