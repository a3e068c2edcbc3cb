<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\Error\AdjournException;

/** A handler throws this for a job that no attempt can help: it is buried, with the message as its reason. */
final class Bury extends \RuntimeException implements AdjournException
{
}
