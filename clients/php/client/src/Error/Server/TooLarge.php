<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** A frame, body, batch or text exceeds its limit. What to do: send less at once; see WELCOME and limits. */
final class TooLarge extends ServerError
{
}
