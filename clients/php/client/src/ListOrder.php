<?php

declare(strict_types=1);

namespace Adjourn;

enum ListOrder: int
{
    case Due = 0;
    case Id = 1;
    /** Leaves out the jobs that have no key. */
    case Key = 2;
}
