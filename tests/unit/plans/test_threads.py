"""Documents are decoded for the first time by several threads at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

PLAN = Path(__file__).parents[2] / "golden" / "plan-1" / "plan.json"
ROUNDS = 60
# Each round in a process that has decoded nothing yet; the threads take turns as often as Python can.
THREADS = """
import os, sys, threading
from pathlib import Path
from ringi.kernel import codec
from ringi.plans.document import PlanDocument

data = Path(sys.argv[1]).read_bytes()
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        sys.setswitchinterval(1e-6)
        ready = threading.Barrier(4)
        def decode():
            ready.wait()
            codec.decode_own(data, PlanDocument, "plan")
        threads = [threading.Thread(target=decode) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        sys.exit(status)
"""


def test_the_first_decoding_by_several_threads_does_not_crash():
    ran = subprocess.run(
        [sys.executable, "-c", THREADS, str(PLAN), str(ROUNDS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ran.returncode == 0, signal.strsignal(-ran.returncode)
