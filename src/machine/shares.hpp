// What ThreadSanitizer is to be told of shares that the standard library counts, into which it does
// not look: that whoever uses something and then gives up its share comes before who destroys it.
#pragma once

namespace bulkhead::machine {

/// The caller is about to give up its share of `thing`.
void gives_up_share(void* thing) noexcept;
/// The caller may destroy `thing`: its share may be the last.
void may_destroy(void* thing) noexcept;

}  // namespace bulkhead::machine
