export default function handle(job) {
  const { blockMs = 0, fail } = job.value;
  const end = performance.now() + blockMs;
  while (performance.now() < end);
  if (fail) throw new Error(fail);
}
