<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The node does not lead. The client follows the leader by itself; this comes when it found none in time. */
final class NotLeader extends ServerError
{
}
