<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job would expire before it is due. What to do: set a later expiry or an earlier due time. */
final class ExpiresBeforeDue extends ServerError
{
}
