// The second half of TraceAssembly: sorted tables in, records of a timeline out.
#pragma once

#include "traces/trace_assembly.hpp"

namespace refrain {

/// The tables sorted as TraceAssembly sorts them. Tells the sink the limits that the joining shows.
void emit_tables(TraceTables& tables, RecordSink& sink);

}  // namespace refrain
