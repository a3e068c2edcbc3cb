<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The topic has a job with this key, alive or remembered. What to do: use the id in the result, or push with keep or replace. */
final class KeyExists extends ServerError
{
}
