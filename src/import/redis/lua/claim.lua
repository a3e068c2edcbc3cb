-- Takes jobs out of their place, if they are still as they were read, and puts their lines into a list of the import's own.
-- KEYS[1]: that list. ARGV: a number, which becomes its first element; how many arguments each job has; which of ARGV is the first
-- of them. The last argument of each job is its line. `take` is defined before this: it gets the place of a job's first argument.
-- Returns how many were taken; -1 if the list is there: its jobs come first.
if redis.call('EXISTS', KEYS[1]) == 1 then return -1 end
local width, taken = tonumber(ARGV[2]), 0
for at = tonumber(ARGV[3]), #ARGV, width do
  if take(at) then
    if taken == 0 then redis.call('RPUSH', KEYS[1], ARGV[1]) end
    redis.call('RPUSH', KEYS[1], ARGV[at + width - 1])
    taken = taken + 1
  end
end
return taken
