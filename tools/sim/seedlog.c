// SPDX-License-Identifier: GPL-2.0
/*
 * What happened last in a property run: kept in a ring, printed when the run
 * fails, with the command that repeats it. A warning of the transport's ends
 * the program, so that prints it, too.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seeds.h"

#define LINES		300

struct line {
	u64 at;
	u16 src, dst, sport;
	u32 len;
	const char *what;		/* of a packet, or NULL: text */
	union {
		u8 hdr[MROCE_MAX_HDR];
		char text[MROCE_MAX_HDR];
	};
	u16 hdr_len;
};

static struct line ring[LINES];
static u64 n_lines, the_seed;
static bool loud, failed, handler_set;

static void data_text(const struct mroce_pkt *p)
{
	printf(" qp %u msn %u.%u off %u", p->data.dqpn, p->data.msn,
	       p->data.attempt, p->data.offset);
}

static void show(const struct line *l)
{
	static const char * const types[] = {
		[MROCE_T_DATA] = "DATA", [MROCE_T_ACK] = "ACK",
		[MROCE_T_NAK] = "NAK", [MROCE_T_CONTROL] = "CONTROL",
	};
	struct mroce_pkt p;

	printf("# %12.3f us ", l->at / 1e3);
	if (!l->what) {
		printf("%s\n", l->text);
		return;
	}
	printf("%2u > %-2u %5u %-7s ", l->src, l->dst, l->sport, l->what);
	if (mroce_wire_parse(l->hdr, l->hdr_len, l->len, &p) != MROCE_WIRE_OK) {
		puts("?");
		return;
	}
	printf("%s op %u flags %#x path %u.%u psn %u", p.type <
	       ARRAY_SIZE(types) && types[p.type] ? types[p.type] : "?",
	       p.opcode, p.flags, p.path, p.epoch, p.psn);
	if (p.type == MROCE_T_DATA && p.opcode != MROCE_OP_NOP)
		data_text(&p);
	else if (p.type == MROCE_T_NAK)
		printf(" msn %u.%u code %u", p.nak.msn, p.nak.attempt,
		       p.nak.code);
	printf(" %u bytes\n", l->len);
}

static struct line *line_add(const struct sim *sm)
{
	struct line *l = &ring[n_lines++ % LINES];

	l->at = sm->now;
	return l;
}

static void on_abort(int sig)
{
	(void)sig;
	printf("not ok - seed %llu: the transport gave up\n", the_seed);
	seedlog_show();
	fflush(stdout);
	_exit(1);
}

/**
 * seedlog_start - a run begins
 * @seed: its seed
 * @verbose: print everything as it happens
 */
void seedlog_start(u64 seed, bool verbose)
{
	the_seed = seed;
	loud = verbose;
	failed = false;
	n_lines = 0;
	if (!handler_set)
		signal(SIGABRT, on_abort);
	handler_set = true;
}

/**
 * seedlog_packet - something has become of a packet
 * @sm: simulation
 * @p: packet
 * @what: a short constant word
 */
void seedlog_packet(struct sim *sm, const struct packet *p, const char *what)
{
	struct line *l = line_add(sm);

	l->what = what;
	l->src = p->src;
	l->dst = p->dst;
	l->sport = p->sport;
	l->len = p->len;
	l->hdr_len = p->hdr_len;
	memcpy(l->hdr, p->hdr, p->hdr_len);
	if (loud)
		show(l);
}

static void note(const struct sim *sm, const char *fmt, va_list args)
{
	struct line *l = line_add(sm);

	l->what = NULL;
	vsnprintf(l->text, sizeof(l->text), fmt, args);
	if (loud)
		show(l);
}

/**
 * seedlog_note - something else has happened
 * @sm: simulation
 * @fmt: as of printf()
 */
void seedlog_note(const struct sim *sm, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	note(sm, fmt, args);
	va_end(args);
}

/**
 * seedlog_show - print the newest lines, and how to see all of them
 */
void seedlog_show(void)
{
	u64 i = n_lines > LINES ? n_lines - LINES : 0;

	printf("# the last %llu of %llu events:\n", n_lines - i, n_lines);
	for (; i < n_lines; i++)
		show(&ring[i % LINES]);
	printf("# again, with all of it: make sim-seeds SEED=%llu N=1 VERBOSE=1\n",
	       the_seed);
}

/**
 * seedlog_fail - the run has broken a property; only the first is told
 * @sm: simulation
 * @fmt: as of printf()
 */
void seedlog_fail(const struct sim *sm, const char *fmt, ...)
{
	va_list args;

	if (failed)
		return;
	failed = true;
	va_start(args, fmt);
	note(sm, fmt, args);
	va_end(args);
	printf("not ok - seed %llu: %s\n", the_seed,
	       ring[(n_lines - 1) % LINES].text);
	seedlog_show();
}

/**
 * seedlog_failed - has the run failed?
 *
 * Return: true if it has.
 */
bool seedlog_failed(void)
{
	return failed;
}
