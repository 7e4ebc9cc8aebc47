// NFS of this machine: what it exports to others, and what it has mounted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/reading.h"

namespace railbed {

class Host;

// A directory exported to a client: a line of /var/lib/nfs/etab, exportfs(8).
struct NfsExport {
  std::string path = {};
  std::string client = {};                // an address, a network, a name with or without wildcards, or "*"
  std::vector<std::string> options = {};  // "rw", "root_squash", …
  FIELDS(NfsExport, path, client, options);
};

// A transport and port at which the kernel's server listens: a line of /proc/fs/nfsd/portlist.
struct NfsListener {
  std::string transport = {};  // tcp, udp, rdma
  int port = 0;
  FIELDS(NfsListener, transport, port);
  bool operator==(const NfsListener&) const = default;
};

// A file system of type nfs or nfs4: a line of /proc/self/mountinfo.
struct NfsMount {
  std::string point = {};
  std::string source = {};  // "10.0.0.1:/srv/home", as mount(8) was called
  // The connection that carries it, by proto= and addr=. With NFS 4.1 it may be that of an earlier mount of the same
  // server at another address (session trunking, RFC 8881, 2.10.5). Empty if not shown.
  std::string protocol = {};  // tcp, tcp6, rdma, rdma6
  std::string address = {};
  bool read_only = false;
  // The transport of each connection: lines "xprt:" of /proc/self/mountstats. Empty if that cannot be read.
  std::vector<std::string> connections = {};
  FIELDS(NfsMount, point, source, protocol, address, read_only, connections);
};

// The use of a folder that cluster.yaml exports from this machine, or mounts here.
enum class FolderUse { kEmpty, kFilled, kMounted };
constexpr auto enum_names(FolderUse) { return std::array<std::string_view, 3>{"empty", "filled", "mounted"}; }
struct AskedFolder {
  std::string path = {};
  // kMounted: something is mounted there, and what is in it was not looked at. Absent: there is no such folder.
  // Unsupported: it is no folder, a link, or on a file system of another machine, where a look may wait for ever.
  Reading<FolderUse> use = {};
  FIELDS(AskedFolder, path, use);
};

struct NfsFacts {
  Reading<std::vector<NfsExport>> exports;      // absent: nothing was ever exported
  Reading<std::vector<NfsListener>> listeners;  // absent: nfsd is not loaded; empty: it does not run
  Reading<std::vector<NfsMount>> mounts;
  Reading<bool> exportfs;            // /usr/sbin/exportfs; absent: the server's package is not installed
  Reading<bool> mount_nfs;           // /sbin/mount.nfs; absent: the client's package is not installed
  std::vector<AskedFolder> folders;  // CollectOptions::folders
  FIELDS(NfsFacts, exports, listeners, mounts, exportfs, mount_nfs, folders);
};

// Return the lines of the text that are understood, at most some thousand; the texts are cleaned.
std::vector<NfsExport> parse_export_table(std::string_view text);
std::vector<NfsListener> parse_nfs_ports(std::string_view text);
std::vector<NfsMount> parse_nfs_mounts(std::string_view mountinfo);
// Adds the transports of each mount from the text of /proc/self/mountstats.
void add_nfs_connections(std::string_view mountstats, std::vector<NfsMount>& mounts);

NfsFacts collect_nfs(Host& host, const std::vector<std::string>& folders);

}  // namespace railbed
