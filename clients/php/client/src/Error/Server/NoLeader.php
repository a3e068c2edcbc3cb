<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** No leader was elected in time. */
final class NoLeader extends ServerError
{
}
