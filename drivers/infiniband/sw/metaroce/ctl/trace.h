/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: what the transport decides, and when. core/events.h says which
 * there are and what their value is; core calls them through trace.c.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM metaroce

#if !defined(MROCE_CTL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MROCE_CTL_TRACE_H

#include <linux/tracepoint.h>

#include "../core/core.h"

#define MROCE_PATH_FMT							\
	"conn=%08x peer=%08x path=%u plane=%u sport=%u epoch=%u una=%u nxt=%u inflight=%u lost=%u cwnd_x256=%u srtt_ns=%llu backoff=%u"
#define MROCE_PATH_ARGS							\
	__entry->conn, __entry->peer, __entry->path, __entry->plane,	\
	__entry->sport, __entry->epoch, __entry->una, __entry->nxt,	\
	__entry->inflight, __entry->lost, __entry->cwnd_x256,		\
	__entry->srtt_ns, __entry->backoff

DECLARE_EVENT_CLASS(mroce_path,
	TP_PROTO(const struct mroce_conn *c, const struct mroce_path_tx *p,
		 u32 value),
	TP_ARGS(c, p, value),
	TP_STRUCT__entry(
		__field(u64, srtt_ns)
		__field(u32, conn)
		__field(u32, peer)
		__field(u32, una)
		__field(u32, nxt)
		__field(u32, inflight)
		__field(u32, lost)
		__field(u32, cwnd_x256)
		__field(u32, value)
		__field(u16, sport)
		__field(u8, path)
		__field(u8, plane)
		__field(u8, epoch)
		__field(u8, backoff)
	),
	TP_fast_assign(
		__entry->srtt_ns = p->srtt_ns;
		__entry->conn = c->id;
		__entry->peer = c->peer_id;
		__entry->una = p->una;
		__entry->nxt = p->nxt;
		__entry->inflight = p->inflight;
		__entry->lost = p->n_lost;
		__entry->cwnd_x256 = p->cc.cwnd_x256;
		__entry->value = value;
		__entry->sport = p->sport;
		__entry->path = p->id;
		__entry->plane = p->plane;
		__entry->epoch = p->epoch;
		__entry->backoff = p->backoff;
	),
	TP_printk(MROCE_PATH_FMT, MROCE_PATH_ARGS)
);

#define MROCE_PATH_EVENT(name, what)					\
DEFINE_EVENT_PRINT(mroce_path, mroce_##name,				\
	TP_PROTO(const struct mroce_conn *c, const struct mroce_path_tx *p, \
		 u32 value),						\
	TP_ARGS(c, p, value),						\
	TP_printk(MROCE_PATH_FMT " " what "=%u", MROCE_PATH_ARGS,	\
		  __entry->value))

DEFINE_EVENT(mroce_path, mroce_path_open,
	TP_PROTO(const struct mroce_conn *c, const struct mroce_path_tx *p,
		 u32 value),
	TP_ARGS(c, p, value));
MROCE_PATH_EVENT(tail_probe, "psn");
MROCE_PATH_EVENT(rto, "rto_us");
MROCE_PATH_EVENT(rehome, "from_sport");
MROCE_PATH_EVENT(lost, "psn");
MROCE_PATH_EVENT(window, "from_x256");

DECLARE_EVENT_CLASS(mroce_conn,
	TP_PROTO(const struct mroce_conn *c, u32 from, u32 to),
	TP_ARGS(c, from, to),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, peer)
		__field(u32, gen)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->conn = c->id;
		__entry->peer = c->peer_id;
		__entry->gen = c->gen;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("conn=%08x peer=%08x gen=%u kbps %u -> %u", __entry->conn,
		  __entry->peer, __entry->gen, __entry->from, __entry->to)
);

TRACE_DEFINE_ENUM(MROCE_CONN_INIT);
TRACE_DEFINE_ENUM(MROCE_CONN_OPEN);
TRACE_DEFINE_ENUM(MROCE_CONN_DEAD);

#define mroce_show_conn_state(state)					\
	__print_symbolic(state,						\
			 { MROCE_CONN_INIT, "init" },			\
			 { MROCE_CONN_OPEN, "open" },			\
			 { MROCE_CONN_DEAD, "dead" })

DEFINE_EVENT_PRINT(mroce_conn, mroce_conn_state,
	TP_PROTO(const struct mroce_conn *c, u32 from, u32 to),
	TP_ARGS(c, from, to),
	TP_printk("conn=%08x peer=%08x gen=%u %s -> %s", __entry->conn,
		  __entry->peer, __entry->gen,
		  mroce_show_conn_state(__entry->from),
		  mroce_show_conn_state(__entry->to)));
DEFINE_EVENT(mroce_conn, mroce_hint,
	TP_PROTO(const struct mroce_conn *c, u32 from, u32 to),
	TP_ARGS(c, from, to));

#endif /* MROCE_CTL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ctl
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
