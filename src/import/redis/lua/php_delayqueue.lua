-- php-delayqueue. KEYS[2]: the hash of bodies; then the sorted sets and the lists of names. ARGV[4]: how many of them are sorted sets;
-- ARGV[5]: 1 if its programs are stopped, so that what is in none of them is held by nobody. Of each job: its name, the SHA-1 of its body.
local function take(at)
  local name, sets, found = ARGV[at], tonumber(ARGV[4]), 0
  local body = redis.call('HGET', KEYS[2], name)
  if not body or redis.sha1hex(body) ~= ARGV[at + 1] then return false end
  for nth = 3, #KEYS do
    if nth - 2 <= sets then found = found + redis.call('ZREM', KEYS[nth], name)
    else found = found + redis.call('LREM', KEYS[nth], 0, name) end
  end
  if found == 0 and ARGV[5] ~= '1' then return false end
  redis.call('HDEL', KEYS[2], name)
  redis.call('DEL', 'lock:' .. name)
  return true
end
