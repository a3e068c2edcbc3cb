<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The sequence number was used for another job. */
final class SequenceReused extends ServerError
{
}
