/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MROCE_SHIM_MODULE_H
#define MROCE_SHIM_MODULE_H

#define MODULE_LICENSE(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_DESCRIPTION(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_AUTHOR(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_IMPORT_NS(s)

#endif /* MROCE_SHIM_MODULE_H */
