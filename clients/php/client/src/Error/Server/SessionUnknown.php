<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The session is no longer known. */
final class SessionUnknown extends ServerError
{
}
