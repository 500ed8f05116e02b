/* SPDX-License-Identifier: GPL-2.0 */
/* Property runs: see seeds.c. */
#ifndef MROCE_SIM_SEEDS_H
#define MROCE_SIM_SEEDS_H

#include "sim.h"

int seeds_run(u64 first, u64 n, bool verbose);

/* seedlog.c */
void seedlog_start(u64 seed, bool verbose);
void seedlog_packet(struct sim *sm, const struct packet *p, const char *what);
void seedlog_note(const struct sim *sm, const char *fmt, ...)
	__printf(2, 3);
void seedlog_show(void);
void seedlog_fail(const struct sim *sm, const char *fmt, ...) __printf(2, 3);
bool seedlog_failed(void);

#endif /* MROCE_SIM_SEEDS_H */
