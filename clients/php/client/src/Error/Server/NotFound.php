<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** There is no such job, topic or subscription. */
final class NotFound extends ServerError
{
}
