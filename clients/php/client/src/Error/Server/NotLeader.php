<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** This node does not lead. What to do: connect to `leader`, or to each of `members` in turn: clusters. */
final class NotLeader extends ServerError
{
}
