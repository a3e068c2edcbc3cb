<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** A value is out of range; the message names it. */
final class Invalid extends ServerError
{
}
