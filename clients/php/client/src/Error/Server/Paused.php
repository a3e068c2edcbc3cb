<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** Every requested topic is paused. */
final class Paused extends ServerError
{
}
