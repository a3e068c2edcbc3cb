<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** The server did not believe the client's certificate, or asks for one: it has read nothing of what was sent. */
final class CertificateRefused extends \RuntimeException
{
}
