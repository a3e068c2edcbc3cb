<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The server could not decode a frame of this client. */
final class Malformed extends ServerError
{
}
