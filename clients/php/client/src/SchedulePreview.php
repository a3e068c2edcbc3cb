<?php

declare(strict_types=1);

namespace Adjourn;

/** When a schedule would fire. */
final readonly class SchedulePreview
{
    /** @param list<LocalInstant> $instants the next instants, in order: fewer than were asked for if it fires no more */
    public function __construct(
        /** The version and the origin of the zone data: `2026f, bundled`. */
        public string $zoneData,
        public array $instants,
    ) {
    }

    /**
     * @param array{zone_data: string, instants: list<array{instant_ms: int, local: string}>} $f the fields of INSTANTS
     *
     * @internal
     */
    public static function of(array $f): self
    {
        $instants = array_map(static fn (array $one): LocalInstant => new LocalInstant($one['instant_ms'], $one['local']), $f['instants']);

        return new self($f['zone_data'], $instants);
    }
}
