/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decisions of the transport that can be watched. In the kernel each is a
 * tracepoint of ctl/trace.h, and costs a static branch when nobody listens; see
 * platform.h for the others.
 */
#ifndef MROCE_CORE_EVENTS_H
#define MROCE_CORE_EVENTS_H

struct mroce_conn;
struct mroce_path_tx;

/* Of a path, sending; after the fact. What @value is: */
#define MROCE_PATH_EVENTS(X)						\
	X(path_open)		/* nothing */				\
	X(tail_probe)		/* PSN that is sent again */		\
	X(rto)			/* the timeout, us */			\
	X(rehome)		/* source port of before */		\
	X(lost)			/* PSN found lost by delivery order */	\
	X(window)		/* congestion window of before, x 256 */

/* Of a connection: from, to */
#define MROCE_CONN_EVENTS(X)						\
	X(conn_state)		/* enum mroce_conn_state */		\
	X(hint)			/* kbit/s that the peer lets us send */

#define X(event)							\
	MROCE_TRACE_DECLARE(event);					\
	void mroce_trace_##event(const struct mroce_conn *c,		\
				 const struct mroce_path_tx *p, u32 value);
MROCE_PATH_EVENTS(X)
#undef X

#define X(event)							\
	MROCE_TRACE_DECLARE(event);					\
	void mroce_trace_##event(const struct mroce_conn *c, u32 from, u32 to);
MROCE_CONN_EVENTS(X)
#undef X

#endif /* MROCE_CORE_EVENTS_H */
