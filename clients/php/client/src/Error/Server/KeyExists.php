<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The topic has a job with this key; see the property job. */
final class KeyExists extends ServerError
{
}
