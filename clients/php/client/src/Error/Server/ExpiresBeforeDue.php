<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The job would expire before it is due. */
final class ExpiresBeforeDue extends ServerError
{
}
