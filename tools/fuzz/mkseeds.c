// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the packets of the unit tests into files, for the fuzzers to start
 * from: mkseeds DIRECTORY
 */
#include "core/tests/wire_vectors.h"

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(mroce_vectors); i++) {
		const struct mroce_vector *v = &mroce_vectors[i];
		char name[512];
		FILE *f;

		snprintf(name, sizeof(name), "%s/vector-%02u", argv[1], i);
		f = fopen(name, "wb");
		if (!f || fwrite(v->raw, v->len, 1, f) != 1 || fclose(f)) {
			perror(name);
			return 1;
		}
	}
	return 0;
}
