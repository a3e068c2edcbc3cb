<?php

declare(strict_types=1);

namespace Adjourn;

enum MemberRole: int
{
    case Learner = 0;
    case Voter = 1;
    case Leader = 2;
}
