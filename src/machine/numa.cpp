#include "machine/pages.hpp"

#if __has_include(<numa.h>) && defined(BULKHEAD_HAVE_LIBNUMA)
#include <numa.h>
#define BULKHEAD_NUMA 1
#endif

namespace bulkhead::machine {

namespace {

class OneNode final : public NodePolicy {
 public:
  [[nodiscard]] int nodes() const override { return 1; }
  [[nodiscard]] int node_of_cpu(int /*cpu*/) const override { return kAnyNode; }
  void place(void* /*begin*/, std::size_t /*bytes*/, int /*node*/) const override {}
};

#ifdef BULKHEAD_NUMA
class LibNuma final : public NodePolicy {
 public:
  [[nodiscard]] int nodes() const override { return numa_max_node() + 1; }
  [[nodiscard]] int node_of_cpu(int cpu) const override { return numa_node_of_cpu(cpu); }
  void place(void* begin, std::size_t bytes, int node) const override {
    if (node != kAnyNode) numa_tonode_memory(begin, bytes, node);
  }
};
#endif

}  // namespace

const NodePolicy& NodePolicy::machine() {
#ifdef BULKHEAD_NUMA
  static const bool several = numa_available() >= 0 && numa_max_node() > 0;
  static const LibNuma libnuma;
  if (several) return libnuma;
#endif
  static const OneNode one;
  return one;
}

}  // namespace bulkhead::machine
