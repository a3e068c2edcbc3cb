<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** A body, batch or text exceeds its limit. */
final class TooLarge extends ServerError
{
}
