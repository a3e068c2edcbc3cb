-- A list of Laravel. KEYS[2]: it; KEYS[3]: the list that wakes its workers. Of each job: its element.
local function take(at)
  if redis.call('LREM', KEYS[2], 1, ARGV[at]) == 0 then return false end
  redis.pcall('LPOP', KEYS[3])
  return true
end
