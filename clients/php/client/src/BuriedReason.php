<?php

declare(strict_types=1);

namespace Adjourn;

enum BuriedReason: int
{
    case ByConsumer = 1;
    case AttemptsUsedUp = 2;
    case TooLate = 3;
}
