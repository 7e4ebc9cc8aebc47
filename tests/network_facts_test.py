#!/usr/bin/env python3
"""What railbed asks the kernel itself is what ip, tc and iptables print: in a network namespace with addresses of every
sort, two default routes, a queue that holds back and a rule. Needs root, iproute2 and iptables; skips itself without."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import guardian

RAILBED = str(pathlib.Path(os.environ['RAILBED']).resolve())
PROGRAMS = ('ip', 'tc', 'unshare', 'iptables-nft')


class Namespace:
    """A process that holds a network namespace of its own, until it is stopped."""

    def __enter__(self):
        self.holder = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'echo ready; exec sleep 300'], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()

    def run(self, words):
        words = words.split() if isinstance(words, str) else words
        # /proc/net is the reader's own; /sys/class/net that of the mount's, so it is mounted anew.
        return subprocess.run(['nsenter', f'--net=/proc/{self.holder.pid}/ns/net', 'unshare', '--mount', 'sh', '-c',
                               'mount -t sysfs sysfs /sys && exec "$@"', 'sh', *words],
                              check=True, capture_output=True, text=True, timeout=120).stdout

    def facts(self):
        return json.loads(self.run([RAILBED, 'facts', '--json']))


def of_ip(interfaces):
    return {one['ifname']: sorted((info['local'], info['prefixlen']) for info in one['addr_info']) for one in interfaces}


def of_railbed(facts):
    return {one['name']: sorted((info['address'], info['prefix']) for info in one['addresses']['value'])
            for one in facts['net']['interfaces']['value']}


class NetworkFacts(unittest.TestCase):
    def test_addresses_and_default_routes(self):
        with Namespace() as node:
            for words in ('ip link set lo up', 'ip link add eth0 type veth peer name eth1',
                          'ip link add down0 type veth peer name down1', 'ip link set eth0 up', 'ip link set eth1 up',
                          'ip address add 192.0.2.1/24 dev eth0', 'ip address add 192.0.2.9/24 dev eth0 label eth0:1',
                          'ip address add 198.51.100.0/31 dev eth1', 'ip address add 10.9.0.1 peer 10.9.0.2/32 dev eth1',
                          'ip address add fd00:1::1/64 dev eth1', 'ip address add 203.0.113.1/32 dev down0',
                          'ip route add default via 192.0.2.254 metric 200', 'ip route add default dev eth1 metric 100',
                          'ip route add 0.0.0.0/1 dev eth0'):
                node.run(words)
            facts = node.facts()
            self.assertEqual(of_railbed(facts), of_ip(json.loads(node.run('ip -j address show'))))
            routes = [route['dev'] for route in json.loads(node.run('ip -j route show default'))]
            self.assertEqual((routes, facts['net']['default_routes']['value']), (['eth1', 'eth0'],) * 2)

    def test_a_route_that_leads_nowhere_is_no_way_out(self):
        with Namespace() as node:
            node.run('ip route add blackhole default')
            self.assertEqual(node.facts()['net']['default_routes']['value'], [])

    def test_queues_that_hold_back_are_told_by_tc(self):
        with Namespace() as node:
            node.run('ip link add eth0 type veth peer name eth1')
            node.run('ip link set eth0 up')
            node.run('tc qdisc add dev eth0 root pfifo')
            self.assertEqual(node.facts()['net']['shapers'], {'value': [], 'from': 'queues'})
            node.run('tc qdisc replace dev eth0 root tbf rate 10mbit burst 32kb latency 50ms')
            shapers = node.facts()['net']['shapers']
            self.assertEqual([(one['interface'], one['kind'], one['bits_per_second']) for one in shapers['value']],
                             [('eth0', 'tbf', 10_000_000)])
            self.assertEqual(shapers['from'], 'tc -j qdisc show')

    def test_rules_are_told_by_iptables(self):
        with Namespace() as node:
            self.assertEqual(node.facts()['system']['firewall'], {'value': {'chains': []}, 'from': 'nf-tables'})
            node.run('iptables-nft -A INPUT -p tcp --dport 22 -j DROP')
            firewall = node.facts()['system']['firewall']
            self.assertIn('iptables-save', firewall['from'])
            self.assertEqual([chain['name'] for chain in firewall['value']['chains'] if chain['rules']], ['INPUT'])


if __name__ == '__main__':
    if os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)):
        print(f"skipped: needs root and {', '.join(PROGRAMS)}", file=sys.stderr)
        sys.exit(77)
    guardian.begin()
    unittest.main()
