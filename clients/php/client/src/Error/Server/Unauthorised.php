<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The token is missing or wrong. */
final class Unauthorised extends ServerError
{
}
