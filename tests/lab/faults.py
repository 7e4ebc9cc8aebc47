"""What can be broken in a guest, by name. It sees each as it would the real thing; `clear` mends all."""
import dataclasses
import re

# The guest's number: 1 in vm1.
NODE = 'n=$(cat /etc/hostname); n=${n#vm}; '

# A filter of what arrives: its kind and what it does follow.
INGRESS = ('tc qdisc replace dev eth1 ingress; '
           'tc filter replace dev eth1 parent ffff: protocol ip prio 1 handle 800::1 ')


@dataclasses.dataclass(frozen=True)
class Fault:
    help: str
    script: str          # runs in the guest under `sh -e`; {0} is the argument
    argument: str = ''   # what the argument is called; empty: none
    pattern: str = ''    # and what it must match: it goes to a shell


FAULTS = {
    'mtu': Fault('the rail at another MTU', 'ip link set eth1 mtu {0}', 'BYTES', r'\d{2,5}'),
    # The address goes to lo, as on hosts that route: TCP reaches it over the rail, rxe0 has no GID for it.
    'no-gid': Fault('no RoCE v2 GID for the rail address (the address moves to lo)',
                    NODE + 'ip -4 addr flush dev eth1; ip addr add 10.77.0.$n/32 dev lo; '
                    'ip route add 10.77.0.0/24 dev eth1 src 10.77.0.$n'),
    'no-address': Fault('the rail without its IPv4 address', 'ip -4 addr flush dev eth1'),
    'wrong-subnet': Fault('the rail address in 10.78.0.0/24',
                          NODE + 'ip -4 addr flush dev eth1; ip addr add 10.78.0.$n/24 dev eth1'),
    'no-module': Fault('rdma_rxe unloaded, rxe0 gone', 'rdma link delete rxe0; modprobe -r rdma_rxe'),
    'no-uverbs': Fault('the device node by which programs reach rxe0 gone', 'rm /dev/infiniband/uverbs0'),
    'loss': Fault('what the rail sends is lost at this rate, by a queue discipline',
                  'tc qdisc replace dev eth1 root netem loss {0}', 'PERCENT%', r'\d{1,3}(\.\d+)?%'),
    # No queue discipline tells of it: as with a bad cable, only counters do.
    'bad-cable': Fault('one of so many packets that arrive is lost, and nothing says so',
                       INGRESS + 'u32 match u32 0 0 action pass random netrand drop {0}', 'PACKETS', r'\d{1,5}'),
    'delay': Fault('what the rail sends waits so long', 'tc qdisc replace dev eth1 root netem delay {0}',
                   'MILLISECONDSms', r'\d{1,4}ms'),
    'slow': Fault('the rail sends no faster than this',
                  'tc qdisc replace dev eth1 root tbf rate {0} burst 32k latency 100ms', 'MEGABITSmbit', r'\d{1,5}mbit'),
    'neighbour': Fault("a static neighbour entry for the other's rail address, of nobody's hardware address",
                       NODE + 'ip neigh replace 10.77.0.$((3 - n)) lladdr 02:00:00:00:00:99 dev eth1 nud permanent'),
    'cut': Fault('the rail link down', 'ip link set eth1 down'),
    'blackhole': Fault('RoCE v2 that arrives is dropped (UDP 4791); TCP is not',
                       INGRESS + 'u32 match ip protocol 17 0xff match ip dport 4791 0xffff action drop'),
    'clear': Fault('the rail healthy again', '/usr/sbin/lab-rail'),
}


def script(name, argument=None):
    """Shell text to run in the guest. ValueError when the name or the argument will not do."""
    fault = FAULTS.get(name)
    if fault is None:
        raise ValueError(f'no fault {name!r}; there are: {", ".join(FAULTS)}')
    if bool(argument) != bool(fault.argument) or argument and not re.fullmatch(fault.pattern, argument):
        raise ValueError(f'usage: fault NODE {name} {fault.argument}'.rstrip())
    text = 'set -e; ' + fault.script.replace('{0}', argument or '')
    return text if name == 'clear' else f'{text}; echo {name} {argument or ""} >>/run/lab-faults'
