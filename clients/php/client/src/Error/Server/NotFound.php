<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** There is no such job, topic or subscription. What to do: treat it as finished, or as never there. */
final class NotFound extends ServerError
{
}
