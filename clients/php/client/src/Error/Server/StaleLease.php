<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** The lease has ended: another consumer may have the job. If mayBeApplied is set, a repeated request may have ended it itself. */
final class StaleLease extends ServerError
{
}
