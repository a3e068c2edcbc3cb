<?php

declare(strict_types=1);

namespace Adjourn\Error\Server;

use Adjourn\Error\ServerError;

/** Too many topics, sessions or subscriptions, or the topic's policy allows no more. */
final class Quota extends ServerError
{
}
