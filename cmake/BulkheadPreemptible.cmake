# For users of the library too: installed beside its package file.

include_guard(GLOBAL)

# bulkhead_preemptible(<target>): compiles the target's C and C++ code so that actors that run it
# give way, also in loops that neither allocate nor block: each basic block counts, and every
# Config::preempt_reductions of them the actor's time is looked at. For what is costly without it
# only: tight loops take two to four times as long.
function(bulkhead_preemptible target)
  foreach(language IN ITEMS C CXX)
    # Clang leaves out blocks that it can tell from others, among them whole loops, unless told not
    # to.
    set(clang "$<COMPILE_LANG_AND_ID:${language},Clang,AppleClang>")
    set(gnu "$<COMPILE_LANG_AND_ID:${language},GNU>")
    target_compile_options(${target} PRIVATE
      "$<${clang}:-fsanitize-coverage=edge,no-prune,trace-pc>"
      "$<${gnu}:-fsanitize-coverage=trace-pc>")
  endforeach()
endfunction()
