-- Takes jobs out of their place, if they are still as they were read, and puts their lines into a list of the import's own.
-- KEYS[1]: that list. ARGV: a number, which becomes its first element; how many arguments each job has; which of ARGV is the first
-- of them. The last argument of each job is its line. `take` and perhaps `clean` are defined before this. They get the place of a job's
-- first argument: the one takes the job out of where it waits, the other removes the rest once its line is written.
-- Returns how many were taken; -1 if the list is there: its jobs come first.
if redis.call('EXISTS', KEYS[1]) == 1 then return -1 end
-- Nothing is taken out by a user who may not write. In a full Redis this write is refused too, but not after one that removes.
local begun = redis.pcall('RPUSH', KEYS[1], ARGV[1])
if type(begun) == 'table' then
  if string.sub(begun.err, 1, 3) ~= 'OOM' then return begun end
  begun = nil
end
local width, taken = tonumber(ARGV[2]), 0
for at = tonumber(ARGV[3]), #ARGV, width do
  if take(at) then
    if not begun then begun = redis.call('RPUSH', KEYS[1], ARGV[1]) end
    redis.call('RPUSH', KEYS[1], ARGV[at + width - 1])
    if clean then clean(at) end
    taken = taken + 1
  end
end
if begun and taken == 0 then redis.call('DEL', KEYS[1]) end
return taken
