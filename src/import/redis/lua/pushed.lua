-- The jobs of a list are pushed. KEYS[1]: the list. ARGV: its number; then, if the queue has refused some, another number and their
-- lines, which stay.
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
for at = 2, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
return 1
