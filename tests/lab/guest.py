"""QEMU's machine protocol over an inherited socket, and one guest as a process."""
import ctypes
import json
import os
import shlex
import signal
import socket
import subprocess

PR_SET_PDEATHSIG = 1  # linux/prctl.h
_prctl = ctypes.CDLL(None).prctl


class GuestError(Exception):
    pass


def _die_with_supervisor():
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Guest:
    """A QEMU process that is this process's child and cannot outlive it."""

    def __init__(self, argv, environment, log, pass_fds):
        self.qmp, theirs = socket.socketpair()
        self.qmp.settimeout(60)
        argv = [*argv, '-chardev', f'socket,id=qmp,fd={theirs.fileno()}', '-mon', 'chardev=qmp,mode=control']
        with open(log, 'w') as out, theirs:
            self.process = subprocess.Popen(argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, pass_fds=[theirs.fileno(), *pass_fds],
                                            preexec_fn=_die_with_supervisor)
        self.log = log
        self.lines = self.qmp.makefile('r')
        try:
            self.read()  # greeting
        except GuestError:
            self.process.wait()
            raise
        self.execute('qmp_capabilities')

    def read(self):
        try:
            line = self.lines.readline()
        except OSError as error:
            raise GuestError(f'QEMU does not answer: {error}') from error
        if not line:
            with open(self.log) as log:
                raise GuestError('QEMU ended: ' + log.read().strip()[-500:])
        return json.loads(line)

    def execute(self, command, **arguments):
        try:
            self.qmp.sendall(json.dumps({'execute': command, 'arguments': arguments}).encode())
        except OSError as error:
            raise GuestError(f'QEMU does not answer: {error}') from error
        while True:
            answer = self.read()
            if 'error' in answer:
                raise GuestError(f'{command}: {answer["error"]["desc"]}')
            if 'return' in answer:
                return answer['return']

    def wait_migrated(self, poll):
        """Until the state has gone out or come in whole."""
        while True:
            status = self.execute('query-migrate').get('status')
            if status == 'completed':
                return
            if status in ('failed', 'cancelled'):
                raise GuestError(f'saved state: {status}')
            poll()

    def begin_save(self, path):
        self.execute('stop')
        self.execute('migrate-set-parameters', **{'max-bandwidth': 1 << 40})
        self.execute('migrate', uri=f'exec:cat >{shlex.quote(str(path))}')

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.qmp.close()
