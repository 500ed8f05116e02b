// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints themselves, and what core calls when somebody listens: its own
 * sources only look at the branch (see linux/tracepoint-defs.h).
 */
#define CREATE_TRACE_POINTS
#include "trace.h"

#define X(event)							\
void mroce_trace_##event(const struct mroce_conn *c,			\
			 const struct mroce_path_tx *p, u32 value)	\
{									\
	trace_mroce_##event(c, p, value);				\
}
MROCE_PATH_EVENTS(X)
#undef X

#define X(event)							\
void mroce_trace_##event(const struct mroce_conn *c, u32 from, u32 to)	\
{									\
	trace_mroce_##event(c, from, to);				\
}
MROCE_CONN_EVENTS(X)
#undef X
