#!/usr/bin/env python3
"""Whatever a program starts ends with it, however it ends: by itself, by a signal, SIGKILL among them, or with its terminal.

    guardian.begin()                          # first in main(): what is started from here on
    python3 tests/guardian.py COMMAND...      # the same for a command, such as a shell script

begin() makes three processes of one, and returns in the last:

  front      the process that was started: hands signals on, and exits as the worker did
  guardian   a session of its own below nobody whom the front's caller can find and end; the parent of
  worker     which goes on with the program

The guardian reads a pipe that closes with the front. The kernel gives it every process that lost its parent
(PR_SET_CHILD_SUBREAPER), so that it knows all of them. When the front is gone or the worker has ended, it ends what is left, and
removes TMPDIR, which is a folder of this run's own, its folders elsewhere (make_folder) and network namespaces (own_namespace).
If the guardian itself is killed, the kernel sends the worker SIGTERM.
"""
import contextlib
import ctypes
import os
import pathlib
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
GRACE = 30  # seconds in which the worker cleans up by itself
LEFT = 10  # in which those that it left behind do; what heeds no SIGTERM is waited for as long
LEFT_GUARDIANS = 55  # and guardians among them, which have a worker of their own to wait for
LEFT_AT_MOST = 120  # until all are given up: they hang in the kernel
NAME = b'guardian'  # as the kernel has it (comm)

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)
_owned = None  # the pipe in which the worker names what it makes


def begin(as_group=False):
    """From here on this is the worker. Call it before there is a thread or a child; more than once is as good as once.
    `as_group`: signals reach its children, too, as those of a terminal do: a shell waits for them."""
    global _owned
    if _owned is not None:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    front, front_end = os.pipe()
    status, status_end = os.pipe()
    middle = os.fork()
    if middle:
        os.close(front)
        os.close(status_end)
        os.waitpid(middle, 0)
        be_the_front(front_end, status)
    os.close(front_end)
    os.close(status)
    os.setsid()
    if os.fork():
        os._exit(0)
    owned, _owned = os.pipe()
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    scratch = tempfile.mkdtemp(prefix='rb')  # short: sockets may lie in it
    os.chmod(scratch, 0o1777)  # as /tmp
    guardian, worker = os.getpid(), os.fork()
    if worker:
        os.close(_owned)
        try:
            Guardian(worker, front, owned, scratch, as_group).guard(status_end)
        finally:
            os._exit(70)
    for each in (front, status_end, owned):
        os.close(each)
    os.environ['TMPDIR'] = tempfile.tempdir = scratch
    end_in_order_on_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != guardian:
        sys.exit(128 + signal.SIGTERM)


def make_folder(prefix, parent):
    """For what cannot lie in TMPDIR. It goes with this run."""
    folder = pathlib.Path(parent) / f'{prefix}{secrets.token_hex(6)}'
    _own('folder', folder)  # before there is one: this may end in between
    folder.mkdir(mode=0o700)
    return folder


def own_namespace(name):
    """The network namespace of `ip netns` that is about to be made goes with this run."""
    _own('namespace', name)
    return name


def end_unless_kept(fd):
    """For a process that is to outlive its starter only once that is content: SIGTERM to itself when the pipe closes before a
    byte came."""
    def wait():
        if not os.read(fd, 1):
            os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=wait, daemon=True).start()


def end_in_order_on_signals():
    """Every signal that requests an end raises Ended, which a `finally` sees. begin() has done it."""
    for number in SIGNALS:
        signal.signal(number, _end_worker)
    sys.excepthook = _print_unless_ended


class Ended(KeyboardInterrupt):
    """No test runner takes it for a test's fault."""


def _end_worker(number, _):
    for each in SIGNALS:
        signal.signal(each, lambda *_: None)  # cleaning up goes on; the guardian knows when it takes too long
    raise Ended(signal.Signals(number).name)


def _print_unless_ended(kind, problem, trace):
    if not issubclass(kind, Ended):
        sys.__excepthook__(kind, problem, trace)


def _own(what, name):
    if _owned is not None:
        os.write(_owned, f'{what} {name}\n'.encode())


def be_the_front(guardian, status):
    def hand_on(number, _):
        with contextlib.suppress(OSError):
            os.write(guardian, bytes([number]))
    for number in SIGNALS:
        signal.signal(number, hand_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    code = b''
    while piece := os.read(status, 16):
        code += piece
    os._exit(int(code or 128 + signal.SIGKILL))


class Guardian:
    def __init__(self, worker, front, owned, scratch, as_group):
        self.worker, self.front, self.owned, self.as_group = worker, front, owned, as_group
        self.folders, self.namespaces = [scratch], []
        self.status, self.told, self.deadline, self.line = None, None, None, b''

    def guard(self, status):
        for number in (*SIGNALS, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        _libc.prctl(PR_SET_NAME, NAME)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # who reads what the worker writes waits for the worker alone
            os.dup2(nothing, stream)
        self.watch()
        self.clean()
        os.write(status, str(self.code()).encode())
        os._exit(0)

    def watch(self):
        """Until the worker has ended and all is read that it wrote."""
        ended = os.pidfd_open(self.worker)
        sources = [self.front, self.owned, ended]
        while self.status is None or self.owned in sources:
            if self.status is None and self.deadline and time.monotonic() > self.deadline:
                os.kill(self.worker, signal.SIGKILL)
            # Now and then without a cause, for orphans that have ended.
            ready = select.select(sources, [], [], 0.5)[0]
            self.reap()
            if ended in ready:
                sources.remove(ended)
            if self.front in ready:
                numbers = os.read(self.front, 16)
                if not numbers:
                    sources.remove(self.front)
                for number in numbers or [signal.SIGTERM]:
                    self.end_worker(number)
            if self.owned in ready and not self.read_owned():
                sources.remove(self.owned)
            if self.status is not None and not ready:
                return  # somebody whom the worker forked holds the pipe

    def end_worker(self, number):
        """The second time without grace."""
        if self.status is None and self.told:
            os.kill(self.worker, signal.SIGKILL)
        elif self.status is None:
            os.kill(0 if self.as_group else self.worker, number)  # of the group this process ignores it
        self.told = self.told or number
        self.deadline = self.deadline or time.monotonic() + GRACE

    def read_owned(self):
        piece = os.read(self.owned, 65536)
        *lines, self.line = (self.line + piece).split(b'\n')
        for line in lines:
            what, name = os.fsdecode(line).split(' ', 1)
            (self.folders if what == 'folder' else self.namespaces).append(name)
        return bool(piece)

    def reap(self):
        """Whether no child is left, and so no descendant: who loses its parent becomes a child of this process."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.worker:
                    self.status = os.waitstatus_to_exitcode(ended[1])
            return False
        except ChildProcessError:
            return True

    def code(self):
        code = self.status if self.status >= 0 else 128 - self.status
        return 128 + self.told if self.told and code else code

    def clean(self):
        """Ends what is left, children first: each may end its own in order, and those that it leaves become children here. A number that is a
        child's is nobody else's until it was waited for."""
        told, end = {}, time.monotonic() + LEFT_AT_MOST
        while not self.reap() and time.monotonic() < end:
            for pid, name in self.children().items():
                if pid not in told:
                    told[pid] = time.monotonic()
                    os.kill(pid, signal.SIGTERM)
                elif time.monotonic() - told[pid] > (LEFT_GUARDIANS if name == NAME else LEFT):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for namespace in reversed(self.namespaces):
            subprocess.run(['ip', 'netns', 'del', namespace], stderr=subprocess.DEVNULL)
        for folder in reversed(self.folders):
            remove_folder(folder)

    @staticmethod
    def children():
        """{pid: name}"""
        found = {}
        for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
            with contextlib.suppress(OSError):
                head, tail = path.read_bytes().rsplit(b')', 1)
                if int(tail.split()[1]) == os.getpid() and tail.split()[0] not in b'ZX':
                    found[int(path.parent.name)] = head.split(b'(', 1)[1]
        return found


def remove_folder(folder):
    """With what is mounted there."""
    mounts = [line.split()[4] for line in pathlib.Path('/proc/self/mountinfo').read_text().splitlines()]
    for mount in sorted((mount for mount in mounts if f'{mount}/'.startswith(f'{folder}/')), reverse=True):
        subprocess.run(['umount', '-l', mount], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)


def main(words):
    if not words:
        sys.exit(__doc__)
    begin(as_group=True)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.environ['RAILBED_GUARDED'] = 'yes'  # scripts that start by this one need no second
    try:
        os.execvp(words[0], words)
    except OSError as error:
        print(f'guardian: cannot start {words[0]}: {error.strerror}', file=sys.stderr)
        sys.exit(127)


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except Ended:
        sys.exit(143)
