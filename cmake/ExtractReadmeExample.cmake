# Script: writes to OUTPUT the first ```cpp block that follows the line MARKER in README.
# Without the marker there is nothing to write, and an OUTPUT of an earlier run goes away.

file(READ "${README}" text)
string(FIND "${text}" "${MARKER}" at)
if(at EQUAL -1)
  file(REMOVE "${OUTPUT}")
  return()
endif()
string(SUBSTRING "${text}" ${at} -1 text)

string(FIND "${text}" "\n```cpp\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${README}: no \`\`\`cpp block follows ${MARKER}.")
endif()
math(EXPR begin "${begin} + 8")
string(SUBSTRING "${text}" ${begin} -1 text)

string(FIND "${text}" "\n```" end)
if(end EQUAL -1)
  message(FATAL_ERROR "${README}: the \`\`\`cpp block after ${MARKER} does not end.")
endif()
string(SUBSTRING "${text}" 0 ${end} text)
string(APPEND text "\n")

set(before)
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT text STREQUAL before)
  file(WRITE "${OUTPUT}" "${text}")
endif()
