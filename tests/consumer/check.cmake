# Installs the built tree into a scratch prefix, builds the project beside this file against it as a user would, and
# looks at what its program prints: nothing is found in the step as it should be, and the broken one is caught.
# Run as `cmake -DTREE=... -DSCRATCH=... [-DWITH=options] -P check.cmake`; builds nothing of the tree.
cmake_minimum_required(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
endfunction()

# Exit status and output of the program, and what must and what must not stand there.
function(expect status wanted unwanted)
  execute_process(COMMAND ${SCRATCH}/build/own_step ${ARGN} RESULT_VARIABLE came OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT came EQUAL status OR NOT output MATCHES "${wanted}" OR output MATCHES "${unwanted}")
    message(FATAL_ERROR "own_step ${ARGN}: expected exit status ${status}, with '${wanted}' and without '${unwanted}'; "
      "found ${came}:\n${output}${errors}")
  endif()
  message(STATUS "own_step ${ARGN}\n${output}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run("the installation" ${CMAKE_COMMAND} --install ${TREE} --prefix ${SCRATCH}/prefix)
run("the configuration" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -G Ninja
  -DCMAKE_BUILD_TYPE=Release -Drefrain_ROOT=${SCRATCH}/prefix ${WITH})
run("the build" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
# Ids 3 1 3 0 3: the counts are the same at every replay, or grow where nothing zeroes them in the graph.
expect(0 "replay 1: 1 1 0 3\nreplay 2: 1 1 0 3\n.*no finding" "error|RF301")
expect(1 "replay 1: 1 1 0 3\nreplay 2: 2 2 0 6\n.*error RF301 scratch-not-zeroed.*\n1 error, 0 warnings, 0 notes" "no finding" --broken)
