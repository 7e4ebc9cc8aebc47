// Invalid cluster.yaml files and the exact error messages for them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "inventory/load.h"

namespace railbed {
namespace {

// Every case begins with the same three lines, so the first line of `rest` is line 4.
std::string complaints(std::string_view rest,
                       std::string_view first = "railbed: 1\ncluster: lab\n# nodes and rails\n") {
  const auto cluster = parse_cluster(std::string(first) + std::string(rest), "cluster.yaml");
  return cluster ? "no complaint" : "\n" + cluster.error().text + "\n";
}

TEST(Complaints, NamesOfDevicesAndOfEthernets) {
  EXPECT_EQ(complaints(R"(speed: 40GbE
nodes: [a]
rails:
  - {name: r0, subnet: 10.0.0.0/24, interface: mlx5_0, first_address: 10.0.0.1}
configure: {unused_interfaces: [eno1, rocep1s0f0]}
)"),
            R"(
cluster.yaml:4:8: "speed" must be a rate with its unit, as in "speed: 40 Gb/s", did you mean "40 Gb/s"?
  speed: 40GbE
         ^~~~~
cluster.yaml:7:48: "mlx5_0" is an RDMA device; "interface" is the network interface with the rail's address, as ens6: `rdma link` shows which belong together
    - {name: r0, subnet: 10.0.0.0/24, interface: mlx5_0, first_address: 10.0.0.1}
                                                 ^~~~~~
cluster.yaml:8:39: "unused_interfaces" must be names of interfaces, as in [eno2]
  configure: {unused_interfaces: [eno1, rocep1s0f0]}
                                        ^~~~~~~~~~
)");
  for (const char* name : {"mlx5_bond_0", "irdma0", "bnxt_re1", "rxe0", "roceP2p1s0f0"})
    EXPECT_NE(
        complaints(
            std::string(
                "nodes: [a]\nrails: [{name: r, subnet: 10.0.0.0/24, first_address: 10.0.0.1, interface: ") +
            name + "}]\n"),
        "no complaint")
        << name;
  for (const char* name : {"ib0", "ibp1s0f0", "mlx5", "enp1s0f0np0", "rxe", "bond0", "roce"})
    EXPECT_EQ(
        complaints(
            std::string(
                "nodes: [a]\nrails: [{name: r, subnet: 10.0.0.0/24, first_address: 10.0.0.1, interface: ") +
            name + "}]\n"),
        "no complaint")
        << name;
}

TEST(Complaints, MisspeltKeysAndWords) {
  EXPECT_EQ(complaints(R"(fabric: rocee
topology: ring
nodes: [vm1]
raisl: []
)"),
            R"(
cluster.yaml:4:9: unknown fabric "rocee", did you mean "roce"?
  fabric: rocee
          ^~~~~
cluster.yaml:5:11: unknown topology "ring"; there are back-to-back, switch
  topology: ring
            ^~~~
cluster.yaml:7:1: unknown key "raisl", did you mean "rails"?
  raisl: []
  ^~~~~
)");
  EXPECT_EQ(complaints(R"(expect: {governor: perfomance, gpu: 8}
nodes:
  - {name: vm1, ssh: a, adress: b}
)"),
            R"(
cluster.yaml:4:20: unknown governor "perfomance", did you mean "performance"?
  expect: {governor: perfomance, gpu: 8}
                     ^~~~~~~~~~
cluster.yaml:4:32: unknown key "gpu", did you mean "gpus"?
  expect: {governor: perfomance, gpu: 8}
                                 ^~~
cluster.yaml:6:25: unknown key "adress"; there are name, ssh, local, bmc, expect, configure
    - {name: vm1, ssh: a, adress: b}
                          ^~~~~~
)");
}

TEST(Complaints, PartsThatNobodySells) {
  EXPECT_EQ(complaints(R"(nodes: [vm1]
parts:
  switches: [{ports: 0, rails: rail0}]
  cables:
    - {model: x, quantity: 2, length: 2 feet, medium: glas}
  adapters: [{model: y, slot: 8, nodes: vm2}]
  gpu: []
)"),
            R"(
cluster.yaml:6:14: this switch has no "model"
    switches: [{ports: 0, rails: rail0}]
               ^~~~~~
cluster.yaml:6:22: "ports" must be a number of ports from 1 to 4096
    switches: [{ports: 0, rails: rail0}]
                       ^
cluster.yaml:6:32: unknown rail "rail0"
    switches: [{ports: 0, rails: rail0}]
                                 ^~~~~
cluster.yaml:8:39: "length" must be a length, as in "2 m"
      - {model: x, quantity: 2, length: 2 feet, medium: glas}
                                        ^~~~~~
cluster.yaml:8:55: unknown medium "glas"; there are passive, active, optical
      - {model: x, quantity: 2, length: 2 feet, medium: glas}
                                                        ^~~~
cluster.yaml:9:31: "slot" must be the slot's lanes, as in "x8"
    adapters: [{model: y, slot: 8, nodes: vm2}]
                                ^
cluster.yaml:9:41: unknown node "vm2", did you mean "vm1"?
    adapters: [{model: y, slot: 8, nodes: vm2}]
                                          ^~~
cluster.yaml:10:3: unknown key "gpu", did you mean "gpus"?
    gpu: []
    ^~~
)");
}

TEST(Complaints, MigInstancesThatCannotBe) {
  EXPECT_EQ(
      complaints(R"(configure: {mig: [{gpus: 0-1, instances: {3g.40gb: 2}}, {gpus: 1, instances: {half: 2}}]}
nodes: [vm1]
)"),
      R"(
cluster.yaml:4:79: "half" is no MIG profile: they are called like 3g.40gb and 1g.10gb+me
  configure: {mig: [{gpus: 0-1, instances: {3g.40gb: 2}}, {gpus: 1, instances: {half: 2}}]}
                                                                                ^~~~
)");
  EXPECT_EQ(complaints(R"(configure: {mig: [{gpus: 0-1, instances: {3g.40gb: 9}}]}
nodes: [vm1]
)"),
            R"(
cluster.yaml:4:52: "3g.40gb" must be a number of instances from 1 to 7
  configure: {mig: [{gpus: 0-1, instances: {3g.40gb: 9}}]}
                                                     ^
)");
  EXPECT_THAT(
      complaints(
          R"(configure: {mig: [{gpus: 0-1, instances: {3g.40gb: 2}}, {gpus: 1, instances: {7g.80gb: 1}}]}
nodes: [vm1]
)"),
      testing::HasSubstr("GPU 1 has a layout already"));
  EXPECT_THAT(complaints(R"(configure: {mig: [{instances: {3g.40gb: 2}}, {gpus: 1, instances: {7g.80gb: 1}}]}
nodes: [vm1]
)"),
              testing::HasSubstr("another layout is for all GPUs"));
}

TEST(Complaints, SharingOfGpusThatCannotBe) {
  const auto of = [](const std::string& sharing) {
    return complaints("configure: {gpu_sharing: " + sharing + "}\nnodes: [vm1]\n");
  };
  EXPECT_EQ(of("{method: mps, replicas: 1}"), R"(
cluster.yaml:4:50: "replicas" must be a number of containers from 2 to 1000
  configure: {gpu_sharing: {method: mps, replicas: 1}}
                                                   ^
)");
  EXPECT_THAT(of("{method: time-slices}"), testing::HasSubstr("by time slices needs \"replicas\""));
  EXPECT_THAT(of("{method: time-slices, replicas: 4, active_threads: 20}"),
              testing::HasSubstr("are limits of MPS"));
  EXPECT_THAT(of("{method: mps, replicas: 4, pinned_memory: 8 GiB}"), testing::HasSubstr("an equal part"));
  EXPECT_THAT(of("{method: none, replicas: 4}"), testing::HasSubstr("goes with no other key"));
  EXPECT_THAT(of("{method: mps, active_threads: 0}"), testing::HasSubstr("a percentage from 1 to 100"));
  EXPECT_THAT(of("{replicas: 4}"), testing::HasSubstr("method"));
  EXPECT_THAT(of("{method: slices, replicas: 4}"), testing::HasSubstr("time-slices"));
  EXPECT_THAT(of("[{method: mps}, {method: time-slices, replicas: 2}]"), testing::HasSubstr("gpu_sharing"))
      << "one way for all GPUs of a node";
}

TEST(Complaints, ConfigurationThatNoNodeCouldHave) {
  EXPECT_EQ(complaints(R"(configure: {console: tty1, console_rate: 1200, pfc_priority: 8, user: "Ops; rm"}
nodes: [vm1]
)"),
            R"(
cluster.yaml:4:22: "console" must be a serial port, as in "ttyS1"
  configure: {console: tty1, console_rate: 1200, pfc_priority: 8, user: "Ops; rm"}
                       ^~~~
cluster.yaml:4:42: "console_rate" must be 9600, 19200, 38400, 57600 or 115200
  configure: {console: tty1, console_rate: 1200, pfc_priority: 8, user: "Ops; rm"}
                                           ^~~~
cluster.yaml:4:62: "pfc_priority" must be a priority from 0 to 7
  configure: {console: tty1, console_rate: 1200, pfc_priority: 8, user: "Ops; rm"}
                                                               ^
cluster.yaml:4:71: "user" must be a user name of small letters, digits, _ and -
  configure: {console: tty1, console_rate: 1200, pfc_priority: 8, user: "Ops; rm"}
                                                                        ^~~~~~~~~
)");
  EXPECT_EQ(complaints(R"(configure: {console: "ttyS quiet 1", authorized_keys: ssh-rsa AAAA;reboot}
nodes: [vm1]
)"),
            R"(
cluster.yaml:4:22: "console" must be a serial port, as in "ttyS1"
  configure: {console: "ttyS quiet 1", authorized_keys: ssh-rsa AAAA;reboot}
                       ^~~~~~~~~~~~~~
cluster.yaml:4:55: "authorized_keys" must be public keys without options, as in "ssh-ed25519 AAAA… name"
  configure: {console: "ttyS quiet 1", authorized_keys: ssh-rsa AAAA;reboot}
                                                        ^~~~~~~~~~~~~~~~~~~
)");
  EXPECT_EQ(complaints(
                R"(configure: {management_address: 192.168.1.254/24, authorized_keys: 'command="x" ssh-rsa A'}
nodes: [vm1, vm2]
rails: [{name: r0, subnet: 10.0.0.0/24, vlan: 7, interface: ens6, first_address: 10.0.0.1}]
)"),
            R"(
cluster.yaml:4:33: 192.168.1.255 (vm2, counted up to 2) is the broadcast address of 192.168.1.0/24
  configure: {management_address: 192.168.1.254/24, authorized_keys: 'command="x" ssh-rsa A'}
                                  ^~~~~~~~~~~~~~~~
cluster.yaml:4:68: "authorized_keys" must be public keys without options, as in "ssh-ed25519 AAAA… name"
  configure: {management_address: 192.168.1.254/24, authorized_keys: 'command="x" ssh-rsa A'}
                                                                     ^~~~~~~~~~~~~~~~~~~~~~~
cluster.yaml:6:61: on VLAN 7 the interface is named after the one that carries it: "PARENT.7"
  rails: [{name: r0, subnet: 10.0.0.0/24, vlan: 7, interface: ens6, first_address: 10.0.0.1}]
                                                              ^~~~
)");
}

TEST(Complaints, MissingAndRepeatedKeys) {
  EXPECT_EQ(complaints("cluster: x\n", ""), R"(
cluster.yaml:1:1: this cluster has no "railbed: 1"
  cluster: x
  ^~~~~~~
cluster.yaml:1:1: this cluster has no "nodes"
  cluster: x
  ^~~~~~~
)");
  EXPECT_EQ(complaints("cluster: lab\nnodes: [vm1]\nrails:\n  - {name: r0}\n"), R"(
cluster.yaml:4:1: "cluster" is said twice, first on line 2
  cluster: lab
  ^~~~~~~
cluster.yaml:7:5: this rail has neither "interface" nor "ports"
    - {name: r0}
      ^~~~~
)");
}

TEST(Complaints, WrongKinds) {
  EXPECT_EQ(complaints(R"(ssh: ops
nodes:
  - [vm1]
  -
rails:
)"),
            R"(
cluster.yaml:4:6: "ssh" must be a mapping, not a single value
  ssh: ops
       ^~~
cluster.yaml:6:5: a node must be a mapping, not a list
    - [vm1]
      ^~~~
cluster.yaml:7:3: a node must be a mapping, and it is empty
    -
    ^
cluster.yaml:8:1: "rails" must be a list, and it is empty
  rails:
  ^~~~~
)");
}

// Values that are kept as text and used in commands later may not contain the space that a number may have.
TEST(Complaints, NumbersWithSpacesInThem) {
  EXPECT_EQ(complaints(R"(expect: {cuda: "12 .8"}
nodes: [vm1]
)"),
            R"(
cluster.yaml:4:16: "cuda" must be a CUDA version, as in "12.8"
  expect: {cuda: "12 .8"}
                 ^~~~~~~
)");
}

TEST(Complaints, ValuesOutOfBounds) {
  EXPECT_EQ(complaints(R"(mtu: 900
speed: 40
nodes: [vm1]
expect:
  gpus: many
  memory: 64
  traffic_class: 300
  fraction_of_ceiling: 90
)"),
            R"(
cluster.yaml:4:6: "mtu" must be a number of bytes from 1280 to 65536, as in "mtu: 9000"
  mtu: 900
       ^~~
cluster.yaml:5:8: "speed" must be a rate with its unit, as in "speed: 40 Gb/s", did you mean "40 Gb/s"?
  speed: 40
         ^~
cluster.yaml:8:9: "gpus" must be a number from 0 to 1024
    gpus: many
          ^~~~
cluster.yaml:9:11: "memory" must be a size with its unit, as in "64 GiB"
    memory: 64
            ^~
cluster.yaml:10:18: "traffic_class" must be a ToS byte from 0 to 255, as in 104 for DSCP 26
    traffic_class: 300
                   ^~~
cluster.yaml:11:24: "fraction_of_ceiling" must be a number above 0, at most 1
    fraction_of_ceiling: 90
                         ^~
)");
  EXPECT_EQ(complaints("speed: 40 GB/s\nfabric: infiniband\nmtu: 65536\nnodes: [a]\nrails:\n"
                       "  - {name: r0, interface: ib0}\n"),
            R"(
cluster.yaml:4:8: "speed" must be a rate with its unit, as in "speed: 40 Gb/s"; a rate is in bits: did you mean "40 Gb/s", or that many bytes, which are "320 Gb/s"?
  speed: 40 GB/s
         ^~~~~~~
cluster.yaml:6:6: an IPoIB interface's MTU is at most 65520
  mtu: 65536
       ^~~~~
)");
}

TEST(Complaints, Nodes) {
  EXPECT_EQ(complaints(R"(nodes:
  - gpu[1-4]
  - {name: "gpu[3-5]"}
  - {name: a, local: yes}
  - {name: b, local: true, ssh: b}
  - {name: c, ssh: -oProxyCommand=x}
  - {name: größe}
  - {name: d, bmc: 10.0.0.9}
  - {name: e, bmc: 10.0.0.9}
)"),
            R"(
cluster.yaml:6:12: node "gpu3" is named twice, first on line 5
    - {name: "gpu[3-5]"}
             ^~~~~~~~~~
cluster.yaml:7:22: "local" must be true or false
    - {name: a, local: yes}
                       ^~~
cluster.yaml:8:33: a node is either local or reached over ssh
    - {name: b, local: true, ssh: b}
                                  ^
cluster.yaml:9:20: "-oProxyCommand=x" is no ssh destination
    - {name: c, ssh: -oProxyCommand=x}
                     ^~~~~~~~~~~~~~~~
cluster.yaml:10:12: "größe" is no host name: letters, digits, "-", "." and "_"
    - {name: größe}
             ^~~~~
cluster.yaml:12:20: the BMC 10.0.0.9 is given twice, first on line 11
    - {name: e, bmc: 10.0.0.9}
                     ^~~~~~~~
)");
}

TEST(Complaints, Ranges) {
  EXPECT_EQ(complaints(R"(nodes:
  - gpu[64-01]
  - {name: "n[1-3]", ssh: "s[1-2]", bmc: "b[1-x]"}
  - {name: "m[1-2]", bmc: ilo}
  - rack[1-200000]
)"),
            R"(
cluster.yaml:5:9: the range 64-01 runs backwards
    - gpu[64-01]
          ^~~~~
cluster.yaml:6:27: "s[1-2]" is 2 names for 3 nodes
    - {name: "n[1-3]", ssh: "s[1-2]", bmc: "b[1-x]"}
                            ^~~~~~~~
cluster.yaml:6:45: "1-x" is neither a number nor a range like 01-64
    - {name: "n[1-3]", ssh: "s[1-2]", bmc: "b[1-x]"}
                                              ^~~
cluster.yaml:7:27: "ilo" is 1 name for 2 nodes
    - {name: "m[1-2]", bmc: ilo}
                            ^~~
cluster.yaml:8:10: more than 39995 names
    - rack[1-200000]
           ^~~~~~~~
)");
  EXPECT_EQ(complaints("nodes:\n  - {name: gpu[01-64], ssh: x}\n"), R"(
cluster.yaml:5:12: inside { } or [ ] a range needs quotes: "gpu[01-64]"
    - {name: gpu[01-64], ssh: x}
             ^~~~~~~~~~
)");
}

TEST(Complaints, AddressesOfARail) {
  EXPECT_EQ(complaints(R"(nodes: [vm1, vm2]
rails:
  - name: r0
    subnet: 10.0.0.0/24
    interface: eth1
    ports:
      vm1: {address: 10.0.1.1}
      vm3: {address: 10.0.0.2}
  - name: r1
    subnet: 10.1.0.0/24
    interface: eth2
    ports:
      vm1: {address: 10.1.0.0}
      vm2: {address: 10.1.0.255}
  - {name: r2, interface: eth3, subnet: 10.2.0.1/24, first_address: 10.2.0}
)"),
            R"(
cluster.yaml:10:22: 10.0.1.1 is outside of r0's subnet 10.0.0.0/24
        vm1: {address: 10.0.1.1}
                       ^~~~~~~~
cluster.yaml:11:7: unknown node "vm3", did you mean "vm1"?
        vm3: {address: 10.0.0.2}
        ^~~
cluster.yaml:16:22: 10.1.0.0 is the address of the subnet 10.1.0.0/24 itself
        vm1: {address: 10.1.0.0}
                       ^~~~~~~~
cluster.yaml:17:22: 10.1.0.255 is the broadcast address of 10.1.0.0/24
        vm2: {address: 10.1.0.255}
                       ^~~~~~~~~~
cluster.yaml:18:41: "subnet" must be a network with its prefix, as in 10.0.0.0/24
    - {name: r2, interface: eth3, subnet: 10.2.0.1/24, first_address: 10.2.0}
                                          ^~~~~~~~~~~
cluster.yaml:18:69: "first_address" must be an IP address
    - {name: r2, interface: eth3, subnet: 10.2.0.1/24, first_address: 10.2.0}
                                                                      ^~~~~~
)");
  EXPECT_EQ(complaints("nodes:\n  - gpu[1-300]\nrails:\n"
                       "  - {name: r0, subnet: 10.0.0.0/24, interface: e, first_address: 10.0.0.1}\n"),
            R"(
cluster.yaml:7:66: 10.0.0.255 (gpu255, counted up to 255) is the broadcast address of 10.0.0.0/24
    - {name: r0, subnet: 10.0.0.0/24, interface: e, first_address: 10.0.0.1}
                                                                   ^~~~~~~~
)");
}

TEST(Complaints, RailsAgainstEachOther) {
  EXPECT_EQ(complaints(R"(nodes: [vm1, vm2]
rails:
  - {name: r0, subnet: 10.0.0.0/24, interface: eth1, first_address: 10.0.0.1}
  - {name: r1, subnet: 10.0.0.0/16, interface: eth2, first_address: 10.0.9.1}
  - {name: r2, subnet: 10.2.0.0/24, interface: eth2, first_address: 10.2.0.1}
  - {name: r3, subnet: 10.0.0.0/24, interface: eth3, first_address: 10.0.0.2, nodes: vm2}
  - {name: r3, interface: eth4}
)"),
            R"(
cluster.yaml:7:24: 10.0.0.0/16 overlaps 10.0.0.0/24 of r0 on node "vm1": the kernel would answer for either port; give each rail a subnet of its own
    - {name: r1, subnet: 10.0.0.0/16, interface: eth2, first_address: 10.0.9.1}
                         ^~~~~~~~~~~
cluster.yaml:8:5: r1 and r2 are both on one interface of node "vm1"
    - {name: r2, subnet: 10.2.0.0/24, interface: eth2, first_address: 10.2.0.1}
      ^~~~~
cluster.yaml:9:24: 10.0.0.0/24 overlaps 10.0.0.0/24 of r0 on node "vm2": the kernel would answer for either port; give each rail a subnet of its own
    - {name: r3, subnet: 10.0.0.0/24, interface: eth3, first_address: 10.0.0.2, nodes: vm2}
                         ^~~~~~~~~~~
cluster.yaml:9:69: 10.0.0.2 is given twice, first on line 6
    - {name: r3, subnet: 10.0.0.0/24, interface: eth3, first_address: 10.0.0.2, nodes: vm2}
                                                                      ^~~~~~~~
cluster.yaml:10:5: this rail has no "first_address": on roce every port has one
    - {name: r3, interface: eth4}
      ^~~~~
cluster.yaml:10:12: rail "r3" is named twice, first on line 9
    - {name: r3, interface: eth4}
             ^~
)");
}

TEST(Complaints, ShapesOfARail) {
  EXPECT_EQ(complaints(R"(topology: back-to-back
nodes: [a, b, c]
rails:
  - {name: r0, subnet: 10.0.0.0/24, interface: eth1, first_address: 10.0.0.1}
  - {name: r1, fabric: infiniband, interface: ib0, first_address: 10.1.0.1, nodes: [a, b]}
  - {name: r2, fabric: ethernet, rdma_driver: rxe, interface: e/2, subnet: 10.2.0.0/24, first_address: 10.2.0.1, nodes: [a, a]}
)"),
            R"(
cluster.yaml:7:5: back to back is a cable between two ports; r0 has 3: say "topology: switch", or make each cable a rail
    - {name: r0, subnet: 10.0.0.0/24, interface: eth1, first_address: 10.0.0.1}
      ^~~~~
cluster.yaml:8:5: this rail has addresses and no "subnet"
    - {name: r1, fabric: infiniband, interface: ib0, first_address: 10.1.0.1, nodes: [a, b]}
      ^~~~~
cluster.yaml:9:47: rxe needs "fabric: roce"
    - {name: r2, fabric: ethernet, rdma_driver: rxe, interface: e/2, subnet: 10.2.0.0/24, first_addres…
                                                ^~~
cluster.yaml:9:63: "e/2" is no interface name: at most 15 characters, no "/"
  …2, fabric: ethernet, rdma_driver: rxe, interface: e/2, subnet: 10.2.0.0/24, first_address: 10.2.0.1,…
                                                     ^~~
)");
}

TEST(Complaints, WhatIsNoYaml) {
  EXPECT_EQ(complaints("nodes:\n\t- vm1\n"), R"(
cluster.yaml:5:1: a tab in the indentation: YAML wants spaces
  	- vm1
  ^
)");
  EXPECT_EQ(complaints("nodes: [vm1, vm2\nrails: []\n"), R"(
cluster.yaml:5:6: a "]" is missing before this
  rails: []
       ^
)");
  EXPECT_EQ(complaints("nodes:\n  - name: a\n   ssh: b\n"), R"(
cluster.yaml:6:4: this is not indented like the items before it
     ssh: b
     ^
)");
  EXPECT_EQ(complaints("nodes: [vm1]\n---\na: b\n"), R"(
cluster.yaml:6:1: a second document: a file describes one cluster
  a: b
  ^
)");
  EXPECT_EQ(complaints("nodes: [gr\xf6\xdf]\n"), R"(
cluster.yaml:4:11: this is not UTF-8 text
  nodes: [gr??]
            ^
)");
  EXPECT_EQ(complaints("", ""), "\ncluster.yaml:1:1: the file is empty\n  \n  ^\n");
}

TEST(Complaints, WhatCouldGrowWithoutBounds) {
  EXPECT_EQ(complaints("nodes: &n [vm1]\nrails: [*n, *n]\n"), R"(
cluster.yaml:4:8: anchors and aliases are not used here: say what nodes share once, at the top level, and use ranges
  nodes: &n [vm1]
         ^~
)");
  EXPECT_EQ(complaints("nodes: " + std::string(20, '[') + std::string(20, ']') + "\n"), R"(
cluster.yaml:4:23: nested deeper than any cluster needs
  nodes: [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]
                        ^
)");
  const std::string endless = complaints(std::string(100'000, '['));
  EXPECT_NE(endless.find("nested deeper than any cluster needs"), std::string::npos) << endless;
  const std::string large = complaints(std::string(17 << 20, '#'));
  EXPECT_NE(large.find("the file is larger than 4 MiB"), std::string::npos) << large.substr(0, 200);
}

TEST(Complaints, AnotherVersionIsNotJudged) {
  EXPECT_EQ(complaints("railbed: 2\nwhatever: 1\n", ""), R"(
cluster.yaml:1:10: this railbed reads version 1 of cluster.yaml: "railbed: 1"
  railbed: 2
           ^
)");
}

TEST(Complaints, LongLinesAreCutAndLongListsCounted) {
  std::string many;
  for (int i = 0; i < 60; ++i) many += "-x, ";
  const std::string text = complaints("nodes: [" + many + "a]\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '^'), 20);
  EXPECT_NE(text.find("\n… and 40 more\n"), std::string::npos) << text;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LT(end - at, 120u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Complaints, CarriageReturnsAndByteOrderMarksDoNotShiftPlaces) {
  const auto cluster =
      parse_cluster("\xef\xbb\xbfrailbed: 1\r\ncluster: c\r\nnodes: [a]\r\nraisl: 1\r\n", "c.yaml");
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().text,
            "c.yaml:4:1: unknown key \"raisl\", did you mean \"rails\"?\n  raisl: 1\n  ^~~~~");
}

// What could not work, or would destroy data.
TEST(Complaints, ExportsOfStorage) {
  const auto said = [](std::string_view entry, std::string_view more = "") {
    const std::string text = complaints(fmt::format(
        "nodes: [s, a, b, c]\nrails:\n  - {{name: r0, subnet: 10.0.0.0/24, interface: e0, first_address: 10.0.0.1, nodes: "
        "[s, a, b]}}\n  - {{name: eth, fabric: ethernet, subnet: 10.1.0.0/24, interface: e1, first_address: "
        "10.1.0.1}}\nstorage:\n  - {{name: x, server: s, device: /dev/vdb, protocol: nvme-tcp, rail: r0, clients: a}}\n  - "
        "{{name: y, {}}}\n{}",
        entry, more));
    return text == "no complaint" ? text : text.substr(1, text.find('\n', 1) - 1);
  };
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-rdma, rail: r0, clients: b"), "no complaint");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: eth, clients: c"), "no complaint");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-rdma, rail: r0, clients: [a, b], shared: true"),
            "no complaint");
  EXPECT_EQ(
      said("server: s, device: /dev/vdc, protocol: nvme-rdma, rail: eth, clients: c"),
      "cluster.yaml:10:54: nvme-rdma needs RDMA, and eth has \"fabric: ethernet\"; nvme-tcp runs there");
  EXPECT_EQ(said("server: c, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: a"),
            "cluster.yaml:10:23: c has no address on r0: clients could not reach it there");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: [a, c], shared: true"),
            "cluster.yaml:10:84: c has no address on r0, over which \"y\" runs");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: [s]"),
            "cluster.yaml:10:84: s is the server of \"y\" and cannot be its client, too");
  EXPECT_EQ(
      said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: [a, b]"),
      "cluster.yaml:10:84: 2 clients write to one device: ext4 and XFS are corrupted by a second one; say "
      "\"shared: true\" for a file system that is made for it (GFS2, OCFS2, Lustre)");
  EXPECT_EQ(said("server: s, device: /dev/vdb, protocol: nvme-rdma, rail: r0, clients: b"),
            "cluster.yaml:10:34: s exports /dev/vdb already, as \"x\"");
  EXPECT_EQ(said("server: s, device: /dev/vdb1, protocol: nvme-rdma, rail: r0, clients: b"),
            "cluster.yaml:10:34: /dev/vdb1 and /dev/vdb, which \"x\" exports, share their blocks");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: b, nqn: "
                 "nqn.2024-07.internal.railbed:s:x"),
            "cluster.yaml:10:91: \"x\" has this NQN already");
  EXPECT_EQ(said("server: t, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:23: unknown node \"t\", did you mean \"s\"?");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r1, clients: b"),
            "cluster.yaml:10:70: unknown rail \"r1\", did you mean \"r0\"?");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: [b, b]"),
            "cluster.yaml:10:87: client \"b\" is named twice");
  EXPECT_EQ(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: []"),
            "cluster.yaml:10:5: an export has at least one client");
  for (const char* device :
       {"vdc", "srv/x", "/dev/../etc", "/dev/a b", "/dev/$x", "/dev/", "/srv/x", "/dev/./a", "/dev/a/"})
    EXPECT_EQ(
        said(fmt::format("server: s, device: {}, protocol: nvme-tcp, rail: r0, clients: b", device)),
        "cluster.yaml:10:34: \"device\" must be the path of a block device in letters, digits and ._-:+, as in "
        "/dev/disk/by-id/nvme-eui.0025384b11b4c1a2")
        << device;
  for (const char* nqn :
       {"x", "nqn.2026-01.com.example", "nqn.26-01.com:x", "nqn.2026-01.:x", "nqn.2026-01.a:x/y"})
    EXPECT_NE(said(fmt::format(
                  "server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0, clients: b, nqn: {}", nqn)),
              "no complaint")
        << nqn;
  EXPECT_NE(said("server: s, device: /dev/vdc, protocol: nvme, rail: r0, clients: b"), "no complaint");
  EXPECT_NE(said("server: s, device: /dev/vdc, protocol: nvme-tcp, rail: r0"), "no complaint");
}

// A directory that nobody can mount, or that hides or gives away what a system needs.
TEST(Complaints, DirectoriesOfNfs) {
  const auto said = [](std::string_view entry) {
    const std::string text = complaints(fmt::format(
        "nodes: [s, a, b, c]\nrails:\n  - {{name: r0, subnet: 10.0.0.0/24, interface: e0, first_address: 10.0.0.1}}\n  - "
        "{{name: eth, fabric: ethernet, subnet: 10.1.0.0/24, interface: e1, first_address: 10.1.0.1}}\nstorage:\n  - "
        "{{name: x, server: s, path: /srv/x, mount: /x, protocol: nfs-rdma, rail: r0, clients: [a, b]}}\n  - "
        "{{name: y, server: s, {}}}\n",
        entry));
    return text == "no complaint" ? text : text.substr(1, text.find('\n', 1) - 1);
  };
  EXPECT_EQ(
      said("path: /srv/y, mount: /y, protocol: nfs-tcp, rail: eth, clients: c, nconnect: 8, read_only: true"),
      "no complaint");
  EXPECT_EQ(
      said("path: /srv/x/y, mount: /xy, protocol: nfs-rdma, rail: r0, clients: a, no_root_squash: true"),
      "no complaint");
  EXPECT_EQ(
      said("path: /srv/y, mount: /y, protocol: nfs-tcp, rail: r0, clients: [c, b]"),
      "cluster.yaml:10:61: b reaches s for \"x\" by nfs-rdma over r0, and its kernel has one connection to a "
      "server (NFS 4.1, session trunking): give both the same protocol and rail");
  EXPECT_EQ(said("path: /srv/y, mount: /y, protocol: nfs-rdma, rail: eth, clients: a"),
            "cluster.yaml:10:61: nfs-rdma needs RDMA, and eth has \"fabric: ethernet\"; nfs-tcp runs there");
  EXPECT_EQ(said("path: /srv/y, mount: /x, protocol: nfs-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:47: b mounts \"x\" at /x already");
  EXPECT_EQ(
      said("path: /srv/y, mount: /x/y, protocol: nfs-tcp, rail: r0, clients: b"),
      "cluster.yaml:10:47: b mounts \"x\" at /x: one of the two lies in the other, and would be hidden or gone with "
      "it");
  EXPECT_EQ(said("path: /srv/x, mount: /y, protocol: nfs-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:32: s exports /srv/x already, as \"x\"");
  EXPECT_EQ(said("mount: /y, protocol: nfs-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:5: this export has no \"path\": nfs-tcp exports a directory");
  EXPECT_EQ(said("path: /srv/y, protocol: nfs-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:5: this export has no \"mount\": nfs-tcp is mounted on its clients");
  EXPECT_EQ(said("protocol: nvme-tcp, rail: r0, clients: b"),
            "cluster.yaml:10:5: this export has no \"device\": nvme-tcp serves a block device");
  for (const auto& [stranger, protocol] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"device: /dev/vdb", "nfs-tcp"},
           {"shared: true", "nfs-rdma"},
           {"nqn: nqn.2026-01.a:x", "nfs-tcp"},
           {"nconnect: 4", "nfs-rdma"}})
    EXPECT_EQ(said(fmt::format("path: /srv/y, mount: /y, protocol: {}, rail: r0, clients: c, {}", protocol,
                               stranger))
                  .substr(16),
              fmt::format("{}: \"{}\" is not for {}", protocol.size() + stranger.find(": ") + 87,
                          stranger.substr(0, stranger.find(':')), protocol))
        << stranger;
  for (const char* stranger :
       {"mount: /y", "path: /y", "read_only: true", "no_root_squash: false", "nconnect: 2"})
    EXPECT_THAT(said(fmt::format("device: /dev/vdb, protocol: nvme-tcp, rail: r0, clients: a, {}", stranger)),
                testing::EndsWith("\" is not for nvme-tcp"))
        << stranger;
  for (const char* path : {"/", "/etc", "/usr/local", "/proc/x", "/var", "/var/lib", "/tmp", "/root/x", "srv",
                           "/a b", "/srv/", "/srv/../etc", "/srv//x", "/srv/$x", "/srv/a:b", "/srv/*"}) {
    for (const char* entry : {"path: {0}, mount: /y", "path: /srv/y, mount: {0}"})
      EXPECT_THAT(
          said(fmt::format(fmt::runtime(std::string(entry) + ", protocol: nfs-tcp, rail: r0, clients: b"),
                           fmt::format("\"{}\"", path))),
          testing::HasSubstr(
              "must be an absolute path in letters, digits and ._-+ that is no folder of the system"))
          << path << entry;
  }
  for (const char* number : {"0", "17", "x"})
    EXPECT_THAT(
        said(fmt::format("path: /srv/y, mount: /y, protocol: nfs-tcp, rail: r0, clients: a, nconnect: {}",
                         number)),
        testing::HasSubstr("\"nconnect\" must be a number from 1 to 16"));
}

// What no os-release(5) holds can never be true on a node.
TEST(Complaints, OfAnOperatingSystemThatNoMachineHas) {
  const auto os_of = [](const std::string& os) {
    return parse_cluster("railbed: 1\ncluster: c\nexpect: {os: " + os + "}\nnodes: [a]\n", "cluster.yaml");
  };
  for (const char* never :
       {"Ubuntu 22.04.5", "debian 12.5", "ubuntu 22.04 LTS", "DGX OS 7", "Rocky Linux 9"}) {
    const auto cluster = os_of(never);
    ASSERT_FALSE(cluster) << never;
    EXPECT_NE(cluster.error().text.find("as in \"ubuntu 22.04\""), std::string::npos) << cluster.error().text;
  }
  EXPECT_EQ(os_of("Ubuntu 22.04")->nodes[0].expect.os, "ubuntu 22.04");
  EXPECT_EQ(os_of("Ubuntu")->nodes[0].expect.os, "ubuntu");
  EXPECT_EQ(os_of("RHEL  9.4")->nodes[0].expect.os, "rhel 9.4");
  EXPECT_EQ(os_of("debian 12")->nodes[0].expect.os, "debian 12");
}

}  // namespace
}  // namespace railbed
