"""Starts one command and prints what the system says it cost; run by ``measure`` as a program of its own.

    python -I -S launch.py CPU_LIMIT STDIN STDOUT COMMAND [ARG ...]

A child's peak memory can never read below that of the process that started it, so this one stays small.
Prints CPU seconds, wall seconds, peak KiB and wait status.
"""

import os
import resource
import sys
import time


def main() -> None:
    """Runs the command of ``sys.argv`` with a limit on each process's CPU seconds."""
    limit, stdin, stdout, *command = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
    ]
    start = time.monotonic()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    wall = time.monotonic() - start
    print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss, status)


if __name__ == "__main__":
    main()
