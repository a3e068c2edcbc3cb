<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;
use Adjourn\Protocol\SettingsCodec;

/**
 * Settings of a topic. To change some, give these; the others stay as they are. To take settings away, name them in
 * `unset`. A setting that is a bool is there or not: false takes it away, too. An empty text is refused.
 */
final readonly class TopicPolicy
{
    /** Parameters, and what the settings are called in the protocol. */
    private const NAMES = [
        'ttrMs' => 'ttr_ms',
        'priority' => 'priority',
        'attemptsMax' => 'attempts_max',
        'backoff' => 'backoff',
        'expiresAfterMs' => 'expires_after_ms',
        'jobsMax' => 'jobs_max',
        'bytesMax' => 'bytes_max',
        'bodyBytesMax' => 'body_max',
        'leasesMax' => 'leases_max',
        'ratePerSecond' => 'rate',
        'late' => 'late',
        'deadLetters' => 'dead_letters',
        'rememberMs' => 'remember_ms',
        'callBack' => 'call_back',
        'callBackMethod' => 'call_back_method',
        'callBackHeaders' => 'call_back_headers',
        'callBackBody' => 'call_back_body',
        'callBackTimeoutMs' => 'call_back_timeout_ms',
        'callBackConcurrency' => 'call_back_concurrency',
        'callBackRate' => 'call_back_rate',
        'callBackSecrets' => 'call_back_secrets',
        'callBackRefused' => 'call_back_refused',
        'callBackRetryIf' => 'call_back_retry_if',
        'callBackSuccess' => 'call_back_success',
        'callBackOfJob' => 'call_back_of_job',
        'callBackLogMs' => 'call_back_log_ms',
        'callBackPaused' => 'call_back_paused',
        'callBackDelayMs' => 'call_back_delay_ms',
        'fair' => 'fair',
        'groupLeasesMax' => 'group_leases_max',
        'groupPerSecondMax' => 'group_per_second_max',
        'groupBurst' => 'group_burst',
        'groupOrder' => 'group_order',
        'groupOnBury' => 'group_on_bury',
    ];

    /**
     * @param int|null $ttrMs The time to run of a job that is pushed with ttr_ms 0.
     * @param int|null $priority The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294.
     * @param int|null $attemptsMax The *attempts max* of a job that has none, at least 1.
     * @param Backoff|null $backoff The backoff of a job that has none.
     * @param int|null $expiresAfterMs A job without an expiry expires this long after it is due, in milliseconds, up to
     *     `DELAY_MS_MAX`.
     * @param int|null $jobsMax A push that would add a job beyond this number is refused with `QUOTA`.
     * @param int|null $bytesMax A push that would take *bytes* beyond this is refused with `QUOTA`.
     * @param int|null $bodyBytesMax A larger body is refused with `TOO_LARGE`.
     * @param int|null $leasesMax No more jobs are reserved at the same time.
     * @param int|null $ratePerSecond Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes
     *     at once.
     * @param LatePolicy|null $late A job is late when it was due longer ago than the first value, in milliseconds; what happens then,
     *     and the number that belongs to it.
     * @param string|null $deadLetters The topic that takes the jobs that would be buried here.
     * @param int|null $rememberMs How long a finished job is remembered that does not say it, in milliseconds, up to
     *     `DEDUPE_RETENTION_MS_MAX`.
     * @param string|null $callBack The URL that the server calls when a job is due: `http://` or `https://`, a name or an IP address,
     *     perhaps a port from 1 to 65535, and a path without `.` and `..`.
     * @param string|null $callBackMethod `GET`, `POST`, `PUT`, `PATCH` or `DELETE`; POST without it.
     * @param string|null $callBackHeaders Lines of `Name: value`, none of a header that frames a request, of `Adjourn-*` or of
     *     `Webhook-*`.
     * @param string|null $callBackBody What is sent in place of the job's body.
     * @param int|null $callBackTimeoutMs How long a call may take, in milliseconds.
     * @param int|null $callBackConcurrency Calls at the same time, from 1.
     * @param int|null $callBackRate Calls per second, evenly spread, 1 to 1,000,000.
     * @param string|null $callBackSecrets Under which name the servers have the secrets that sign calls: `A-Z a-z 0-9 . _ -`.
     * @param string|null $callBackRefused `bury` or `retry`: what becomes of a job whose call gets a status from 400 to 499.
     * @param string|null $callBackRetryIf A condition on the reply under which the call counts as failed.
     * @param string|null $callBackSuccess `status` or `reply`: what success is known by.
     * @param bool|null $callBackOfJob A job may name the URL itself, in its header `call-back`.
     * @param int|null $callBackLogMs How long attempts can be looked up, in milliseconds, from 1.
     * @param bool|null $callBackPaused No calls are made.
     * @param int|null $callBackDelayMs How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds,
     *     up to `DELAY_MS_MAX`.
     * @param bool|null $fair Groups take turns. So they do with any of the settings below.
     * @param int|null $groupLeasesMax Most jobs of one group that are reserved at the same time, at least 1.
     * @param int|null $groupPerSecondMax Most jobs of one group that are delivered per second, 1 to `RATE_PER_SECOND_MAX`.
     * @param int|null $groupBurst How many of them may be delivered at once, 1 to `RATE_PER_SECOND_MAX`; without it a tenth of the
     *     rate, at least 1.
     * @param string|null $groupOrder `fifo`: one job of a group at a time, and the next one when that has ended.
     * @param string|null $groupOnBury With `fifo`, what a buried job means to those behind it: `block` (the default) or `continue`.
     * @param list<string> $unset names of the parameters above it
     */
    public function __construct(
        public ?int $ttrMs = null,
        public ?int $priority = null,
        public ?int $attemptsMax = null,
        public ?Backoff $backoff = null,
        public ?int $expiresAfterMs = null,
        public ?int $jobsMax = null,
        public ?int $bytesMax = null,
        public ?int $bodyBytesMax = null,
        public ?int $leasesMax = null,
        public ?int $ratePerSecond = null,
        public ?LatePolicy $late = null,
        public ?string $deadLetters = null,
        public ?int $rememberMs = null,
        public ?string $callBack = null,
        public ?string $callBackMethod = null,
        public ?string $callBackHeaders = null,
        public ?string $callBackBody = null,
        public ?int $callBackTimeoutMs = null,
        public ?int $callBackConcurrency = null,
        public ?int $callBackRate = null,
        public ?string $callBackSecrets = null,
        public ?string $callBackRefused = null,
        public ?string $callBackRetryIf = null,
        public ?string $callBackSuccess = null,
        public ?bool $callBackOfJob = null,
        public ?int $callBackLogMs = null,
        public ?bool $callBackPaused = null,
        public ?int $callBackDelayMs = null,
        public ?bool $fair = null,
        public ?int $groupLeasesMax = null,
        public ?int $groupPerSecondMax = null,
        public ?int $groupBurst = null,
        public ?string $groupOrder = null,
        public ?string $groupOnBury = null,
        public array $unset = [],
    ) {
        foreach ($unset as $name) {
            if (!isset(self::NAMES[$name])) {
                throw new UsageError("\"$name\" is no setting of a topic.");
            }
        }
        foreach (self::NAMES as $name => $_) {
            if ($this->$name === '') {
                $unset = "To take it away, write unset: ['$name'].";
                throw new UsageError("\"$name\" cannot be an empty text. $unset");
            }
        }
    }

    public function encode(): string
    {
        return SettingsCodec::encode($this->wire());
    }

    /**
     * @internal The settings by their names in the protocol; null for those that are taken away.
     *
     * @return array<string, mixed>
     */
    public function wire(): array
    {
        $settings = array_filter([
            'ttr_ms' => $this->ttrMs,
            'priority' => $this->priority,
            'attempts_max' => $this->attemptsMax,
            'backoff' => $this->backoff?->wire(),
            'expires_after_ms' => $this->expiresAfterMs,
            'jobs_max' => $this->jobsMax,
            'bytes_max' => $this->bytesMax,
            'body_max' => $this->bodyBytesMax,
            'leases_max' => $this->leasesMax,
            'rate' => $this->ratePerSecond,
            'late' => $this->late?->wire(),
            'dead_letters' => $this->deadLetters,
            'remember_ms' => $this->rememberMs,
            'call_back' => $this->callBack,
            'call_back_method' => $this->callBackMethod,
            'call_back_headers' => $this->callBackHeaders,
            'call_back_body' => $this->callBackBody,
            'call_back_timeout_ms' => $this->callBackTimeoutMs,
            'call_back_concurrency' => $this->callBackConcurrency,
            'call_back_rate' => $this->callBackRate,
            'call_back_secrets' => $this->callBackSecrets,
            'call_back_refused' => $this->callBackRefused,
            'call_back_retry_if' => $this->callBackRetryIf,
            'call_back_success' => $this->callBackSuccess,
            'call_back_of_job' => $this->callBackOfJob,
            'call_back_log_ms' => $this->callBackLogMs,
            'call_back_paused' => $this->callBackPaused,
            'call_back_delay_ms' => $this->callBackDelayMs,
            'fair' => $this->fair,
            'group_leases_max' => $this->groupLeasesMax,
            'group_per_second_max' => $this->groupPerSecondMax,
            'group_burst' => $this->groupBurst,
            'group_order' => $this->groupOrder,
            'group_on_bury' => $this->groupOnBury,
        ], static fn (mixed $value): bool => $value !== null);
        foreach ($this->unset as $name) {
            if ($this->$name !== null) {
                throw new UsageError("\"$name\" cannot be set and taken away at once.");
            }
            $settings[self::NAMES[$name]] = null;
        }

        return $settings;
    }

    /** @throws Protocol\Malformed */
    public static function decode(string $settings): self
    {
        return self::ofWire(SettingsCodec::decode($settings));
    }

    /**
     * @internal
     *
     * @param array<string, mixed> $settings by their names in the protocol
     */
    public static function ofWire(array $settings): self
    {
        return new self(
            ttrMs: $settings['ttr_ms'] ?? null,
            priority: $settings['priority'] ?? null,
            attemptsMax: $settings['attempts_max'] ?? null,
            backoff: isset($settings['backoff']) ? Backoff::ofWire($settings['backoff']) : null,
            expiresAfterMs: $settings['expires_after_ms'] ?? null,
            jobsMax: $settings['jobs_max'] ?? null,
            bytesMax: $settings['bytes_max'] ?? null,
            bodyBytesMax: $settings['body_max'] ?? null,
            leasesMax: $settings['leases_max'] ?? null,
            ratePerSecond: $settings['rate'] ?? null,
            late: isset($settings['late']) ? LatePolicy::ofWire($settings['late']) : null,
            deadLetters: $settings['dead_letters'] ?? null,
            rememberMs: $settings['remember_ms'] ?? null,
            callBack: $settings['call_back'] ?? null,
            callBackMethod: $settings['call_back_method'] ?? null,
            callBackHeaders: $settings['call_back_headers'] ?? null,
            callBackBody: $settings['call_back_body'] ?? null,
            callBackTimeoutMs: $settings['call_back_timeout_ms'] ?? null,
            callBackConcurrency: $settings['call_back_concurrency'] ?? null,
            callBackRate: $settings['call_back_rate'] ?? null,
            callBackSecrets: $settings['call_back_secrets'] ?? null,
            callBackRefused: $settings['call_back_refused'] ?? null,
            callBackRetryIf: $settings['call_back_retry_if'] ?? null,
            callBackSuccess: $settings['call_back_success'] ?? null,
            callBackOfJob: $settings['call_back_of_job'] ?? null,
            callBackLogMs: $settings['call_back_log_ms'] ?? null,
            callBackPaused: $settings['call_back_paused'] ?? null,
            callBackDelayMs: $settings['call_back_delay_ms'] ?? null,
            fair: $settings['fair'] ?? null,
            groupLeasesMax: $settings['group_leases_max'] ?? null,
            groupPerSecondMax: $settings['group_per_second_max'] ?? null,
            groupBurst: $settings['group_burst'] ?? null,
            groupOrder: $settings['group_order'] ?? null,
            groupOnBury: $settings['group_on_bury'] ?? null,
            unset: array_keys(array_intersect(self::NAMES, array_keys($settings, null, true))),
        );
    }
}
