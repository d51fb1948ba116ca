module bulkhead/bench/peers/go

go 1.19
