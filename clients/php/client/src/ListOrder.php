<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

/** In which order jobs are listed. */
enum ListOrder: int
{
    /** By due time, then id. */
    case Due = 0;
    /** By id, which is the order in which they were pushed. */
    case Id = 1;
    /** By key, then id, without the jobs that have no key. */
    case Key = 2;
}
