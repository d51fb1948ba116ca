// The same by a Reply, where nobody asks.
// expect: static assertion failed.*bulkhead: this reply cannot be sent
// expect: static assertion failed.*it holds a std::string_view, which would dangle
#include <bulkhead/bulkhead.hpp>

#include <string_view>

void answer(bulkhead::Reply<std::string_view> reply) { reply("text"); }
