<?php

declare(strict_types=1);

namespace Adjourn;

/** Stands for the body in a `JobEdit` that leaves it as it is, because null is a body: the `null` of JSON. */
enum Unedited
{
    case Body;
}
