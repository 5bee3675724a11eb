# SPDX-License-Identifier: Apache-2.0
# The part of coordinator/io that knows the formats and no connection; its tests link only this.
set(COORDINATOR_IO_WIRE
  answer.c answer_look.c
  body.c body_pool.c body_read.c body_scratch.c body_splice.c
  chain.c chain_part.c chain_state.c
  errors.c
  identity_read.c
  opening.c
  sketch.c
  sse.c sse_event.c sse_filter.c sse_shape.c
  tool_names.c tool_results.c
  workflow_read.c)
list(TRANSFORM COORDINATOR_IO_WIRE PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
if(NOT TARGET coordinator_wire)
  saga_archive(NAME coordinator_wire SOURCES ${COORDINATOR_IO_WIRE} DEPS coordinator_core common_base yyjson)
endif()
