// C7: a guard is one of a kind.
// expect: (use of deleted function|call to (implicitly-deleted|deleted)).*Guard
#include <bulkhead/bulkhead.hpp>

bulkhead::Mutex::Guard copy(const bulkhead::Mutex::Guard& guard) { return guard; }
