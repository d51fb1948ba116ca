// A13: an ask is answered once.
// expect: (use of deleted function|call to (implicitly-deleted|deleted)).*Reply<int>?
#include <bulkhead/bulkhead.hpp>

bulkhead::Reply<int> copy(const bulkhead::Reply<int>& reply) { return reply; }
