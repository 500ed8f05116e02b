#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs rdma-core's own test suite and notes what became of each test.

  rdma_core_tests.py DIR OUT --dev DEV --gid INDEX [PATTERN...]

DIR holds the unpacked suite. OUT gets a line for each test: status (pass, fail,
skip), id, seconds and reason, separated by tabs; what failed is told on
standard output.
"""
import faulthandler
import importlib.util
import os
import sys
import time
import unittest

where, out_name = sys.argv[1:3]
del sys.argv[1:3]
out = open(out_name, 'w')
sys.path.insert(0, where)
from args_parser import parser      # noqa: E402

parser.parse_args()
patterns = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    'tests', os.path.join(where, '__init__.py'),
    submodule_search_locations=[where])
tests = importlib.util.module_from_spec(spec)
sys.modules['tests'] = tests
spec.loader.exec_module(tests)


class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.t0 = time.monotonic()
        # A test that hangs ends the run; the last line tells which it was
        faulthandler.dump_traceback_later(120, exit=True)

    def note(self, status, test, why=''):
        why = ' '.join(str(why).split())
        out.write('%s\t%s\t%.2f\t%s\n' % (status, test.id(),
                                           time.monotonic() - self.t0, why))
        out.flush()

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)

    def addSuccess(self, test):
        self.note('pass', test)

    def addSkip(self, test, reason):
        self.note('skip', test, reason)

    def bad(self, test, err):
        text = self._exc_info_to_string(err, test)
        print('%s:\n%s' % (test.id(), text), flush=True)
        self.note('fail', test, text.strip().splitlines()[-1])

    addError = addFailure = bad

    def addSubTest(self, test, subtest, err):
        if err:
            self.bad(test, err)


def flat(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from flat(t)
        else:
            yield t


suite = unittest.TestLoader().loadTestsFromModule(tests)
wanted = [t for t in flat(suite)
          if not patterns or any(p in t.id() for p in patterns)]
result = Result()
# What is not of this vendor is skipped by the tests themselves
unittest.TestSuite(wanted).run(result)
out.write('end\t%d\t0\t\n' % len(wanted))
