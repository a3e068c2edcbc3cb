<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** This server, or a member of its cluster, does not support the request. */
final class Unsupported extends ServerError
{
}
