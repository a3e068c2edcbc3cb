<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The session is no longer known. What to do: connect again; HELLO resumes the session or opens a new one. */
final class SessionUnknown extends ServerError
{
}
