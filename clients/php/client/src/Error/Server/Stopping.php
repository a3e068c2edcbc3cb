<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The server is stopping, and no other one was found in time. */
final class Stopping extends ServerError
{
}
