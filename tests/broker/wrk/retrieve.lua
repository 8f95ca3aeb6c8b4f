-- Retrieves the entities fixture-1 .. fixture-N in turn. Optional argument: N (default 1000).
function init(args)
  pool = tonumber(args[1]) or 1000
  at = 0
end

function request()
  at = at % pool + 1
  return wrk.format("GET", "/entities/fixture-" .. at)
end
