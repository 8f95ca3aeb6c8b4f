-- Merges one attribute into the fixture's entities in turn.
local POOL = 10000

function init(args)
  at = 0
  headers = { ["Content-Type"] = "application/json" }
end

function request()
  at = at % POOL + 1
  return wrk.format("PATCH", "/ngsi-ld/v1/entities/urn:ngsi-ld:Room:" .. at, headers,
                    '{"attribute01":{"type":"Property","value":' .. at .. "}}")
end
