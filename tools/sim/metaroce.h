/* SPDX-License-Identifier: GPL-2.0 */
/* MetaRoCE's ends and flows, for metaroce.c and who looks into them. */
#ifndef MROCE_SIM_METAROCE_H
#define MROCE_SIM_METAROCE_H

#include "transport.h"

struct mend {
	struct end e;
	struct mroce_conn c;
	u16 sport_next;
};

struct mflow {
	struct flow f;
	struct mroce_stream s;
	struct mend *e;
	struct mflow *mirror;		/* the other half */
	bool responder;
	u64 word;			/* what atomics work on */
	struct mroce_msg *ring;
};

static inline struct mend *to_mend(struct end *e)
{
	return container_of(e, struct mend, e);
}

#endif /* MROCE_SIM_METAROCE_H */
