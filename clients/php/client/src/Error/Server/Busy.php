<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** Too much work is in flight, or the server has reached its memory limit. */
final class Busy extends ServerError
{
}
