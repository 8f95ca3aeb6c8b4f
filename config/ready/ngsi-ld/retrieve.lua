-- Retrieves the fixture's entities in turn.
local POOL = 10000

function init(args)
  at = 0
end

function request()
  at = at % POOL + 1
  return wrk.format("GET", "/ngsi-ld/v1/entities/urn:ngsi-ld:Room:" .. at)
end
