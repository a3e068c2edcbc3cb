<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/**
 * The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member. What to do: use
 * only features of this version, or a newer server.
 */
final class Unsupported extends ServerError
{
}
