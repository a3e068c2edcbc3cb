<?php

declare(strict_types=1);

namespace Adjourn;

enum PushOutcome: int
{
    case Pushed = 0;
    case Kept = 1;
    case Replaced = 2;
    case Refused = 3;
    case Postponed = 4;
}
