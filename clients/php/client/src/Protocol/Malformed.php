<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/** Bytes that are no frame of this protocol. The connection turns it into a ProtocolError. */
final class Malformed extends \UnexpectedValueException
{
}
