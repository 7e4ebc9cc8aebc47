"""A stand-in for Kubernetes' API server, on loopback: pods, nodes, who may do what, and the exec protocol as kubelet speaks it
(v4.channel.k8s.io over SPDY/3.1), for the real kubectl. What is exec'd in a pod runs as a process of this machine.

It is no Kubernetes: no scheduler, no kubelet, no container runtime, no TLS.
"""
import http.server
import json
import os
import signal
import socketserver
import struct
import subprocess
import threading
import urllib.parse
import zlib

NAMESPACE = "railbed"
LABELS = {"app.kubernetes.io/name": "railbed-agent"}

# SPDY/3, section 2.6.10.1: names and values with their lengths, then bare text.
WORDS = """options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization
cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range
content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified
location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding
upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive
origin""".replace("\n", " ").split(" ")
TEXT = ("100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information"
        "204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error"
        "501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, "
        "Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
        "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.")
DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in (one.replace("_", " ") for one in WORDS)) + TEXT.encode()
SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY, HEADERS, WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
FIN = 1


class Spdy:
    """One connection, from the server's end. Frames are read by one thread and written by several."""

    def __init__(self, reader, connection):
        self.reader, self.connection = reader, connection
        self.lock = threading.Lock()
        self.unpacker = zlib.decompressobj(zdict=DICTIONARY)
        self.packer = zlib.compressobj(zdict=DICTIONARY)

    def frames(self):
        """("data", stream, flags, bytes) or (type, stream, flags, body) until the connection ends."""
        while True:
            head = self.reader.read(8)
            if len(head) < 8:
                return
            first, second = struct.unpack(">II", head)
            body = self.reader.read(second & 0xFFFFFF)
            if len(body) < second & 0xFFFFFF:
                return
            if first >> 31:
                stream = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF if len(body) >= 4 else 0
                yield first & 0xFFFF, stream, second >> 24, body
            else:
                yield "data", first, second >> 24, body

    def send(self, first, flags, body):
        with self.lock:
            try:
                self.connection.sendall(struct.pack(">II", first, flags << 24 | len(body)) + body)
            except OSError:
                pass

    def control(self, kind, body, flags=0):
        self.send(1 << 31 | 3 << 16 | kind, flags, body)

    def data(self, stream, body, flags=0):
        self.send(stream, flags, body)

    def headers_of(self, body):
        text = self.unpacker.decompress(body[10:])
        count, at, headers = struct.unpack(">I", text[:4])[0], 4, {}
        for _ in range(count):
            pair = []
            for _ in range(2):
                size = struct.unpack(">I", text[at:at + 4])[0]
                pair.append(text[at + 4:at + 4 + size].decode())
                at += 4 + size
            headers[pair[0].lower()] = pair[1]
        return headers

    def reply(self, stream):
        block = self.packer.compress(struct.pack(">I", 0)) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        self.control(SYN_REPLY, struct.pack(">I", stream) + block)


def exec_status(code):
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    message = f"command terminated with non-zero exit code: exit status {code}"
    return {"metadata": {}, "status": "Failure", "message": message, "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]}}


class Exec:
    """A command in a pod, from its streams' opening to its end."""

    def __init__(self, spdy, pod, command, wanted):
        self.spdy, self.pod, self.command, self.wanted = spdy, pod, command, wanted
        self.streams, self.process = {}, None

    def run(self):
        try:
            for kind, stream, flags, body in self.spdy.frames():
                if kind == SYN_STREAM:
                    self.streams[self.spdy.headers_of(body)["streamtype"]] = stream
                    self.spdy.reply(stream)
                    if self.streams.keys() == self.wanted:
                        self.start()
                elif kind == PING:
                    self.spdy.control(PING, body)
                elif kind == GOAWAY:
                    break
                elif kind == "data" and stream == self.streams.get("stdin"):
                    self.take(body, flags & FIN)
        except ConnectionError:  # a client that is killed resets the connection
            pass
        self.close_input()  # as a container runtime does when the connection is cut

    def start(self):
        self.process = subprocess.Popen(self.pod.prefix + self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=self.pod.environment, start_new_session=True)
        self.pod.processes.append(self.process)
        threading.Thread(target=self.watch, daemon=True).start()

    def take(self, body, last):
        if body and self.pod.dies:
            os.killpg(self.process.pid, signal.SIGKILL)
        try:
            if body:
                self.process.stdin.write(body)
                self.process.stdin.flush()
        except (OSError, ValueError):
            pass
        if last:
            self.close_input()

    def close_input(self):
        if self.process:
            try:
                self.process.stdin.close()
            except OSError:
                pass

    def watch(self):
        def carry(name, pipe):
            while piece := pipe.read1(32768):
                if not self.pod.mute:
                    self.spdy.data(self.streams[name], piece)

        carriers = [threading.Thread(target=carry, args=(name, getattr(self.process, name)), daemon=True) for name in ("stdout", "stderr")]
        for one in carriers:
            one.start()
        for one in carriers:
            one.join()
        code = self.process.wait()
        self.spdy.data(self.streams["error"], json.dumps(exec_status(code if code >= 0 else 128 - code)).encode(), FIN)
        for name in ("stdout", "stderr"):
            self.spdy.data(self.streams[name], b"", FIN)


class Pod:
    """On `node`, which may be in any state. `forbidden`: nobody may exec there. `dies`: what runs in it is killed when it is asked for
    something. `mute`: what runs in it says nothing. `prefix`: words before each command, such as into a network namespace."""

    def __init__(self, node, home, waiting=None, forbidden=False, dies=False, mute=False, placed=True):
        self.node, self.name = node, f"railbed-agent-{node}"
        self.waiting, self.forbidden, self.dies, self.mute, self.placed = waiting, forbidden, dies, mute, placed
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C"}
        self.processes, self.prefix = [], []

    def to_json(self):
        ready = self.waiting is None and self.placed
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self.node]}]}]}}}
        spec = {"containers": [{"name": "agent", "image": "railbed"}], "affinity": affinity}
        if not self.placed:
            status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                                                          "message": "0/9 nodes are available: 1 Insufficient memory.\nx|y"}]}
        else:
            spec["nodeName"] = self.node
            state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}} if ready else {"waiting": self.waiting}
            status = {"phase": "Running" if ready else "Pending", "conditions": [{"type": "Ready", "status": str(ready)}],
                      "containerStatuses": [{"name": "agent", "ready": ready, "restartCount": 0, "image": "railbed", "imageID": "",
                                             "state": state}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, "namespace": NAMESPACE, "labels": LABELS},
                "spec": spec, "status": status}


def node_json(name, ready=True, cordoned=False):
    condition = {"type": "Ready", "status": "True" if ready else "Unknown",
                 "message": "kubelet is posting ready status" if ready else "Kubelet stopped posting node status."}
    spec = {"unschedulable": True} if cordoned else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": {"conditions": [condition]}}


def resource(name, kind, namespaced, verbs):
    return {"name": name, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": verbs}


DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/version": {"major": "1", "minor": "25", "gitVersion": "v1.25.0"},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        resource("pods", "Pod", True, ["get", "list"]), resource("nodes", "Node", False, ["get", "list"]),
        resource("pods/exec", "PodExecOptions", True, ["create", "get"])]}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, form, *words):
        self.server.log.append(form % words)

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code, reason, message):
        self.answer(code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                           "reason": reason, "code": code})

    def forbid(self, verb, what):
        self.refuse(403, "Forbidden", f'{what} is forbidden: User "tester" cannot {verb} resource "{what.split()[0]}" in API group "" '
                                      f'in the namespace "{NAMESPACE}"')

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        cluster = self.server.cluster
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        if url.path.startswith("/stranger"):
            self.refuse(401, "Unauthorized", "Unauthorized")
        elif url.path in DISCOVERY:
            self.answer(200, DISCOVERY[url.path])
        elif url.path.startswith("/api/v1/namespaces/") and url.path.endswith("/pods"):
            wanted = query.get("labelSelector", [""])[0] == "app.kubernetes.io/name=railbed-agent" and url.path == pods
            self.answer(200, {"apiVersion": "v1", "kind": "PodList", "metadata": {},
                              "items": [pod.to_json() for pod in cluster.pods] if wanted else []})
        elif url.path == "/api/v1/nodes":
            if cluster.nodes is None:
                self.forbid("list", "nodes")
            else:
                self.answer(200, {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": cluster.nodes})
        elif url.path.endswith("/exec"):  # by WebSocket, which is a "get": the role has "create" alone
            self.forbid("get", "pods/exec")
        elif pod := cluster.find(url.path.removeprefix(pods + "/")):
            self.answer(200, pod.to_json())
        else:
            self.refuse(404, "NotFound", f'{url.path} not found')

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        pod = self.server.cluster.find(url.path.split("/")[-2])
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not pod or not url.path.endswith("/exec"):
            return self.refuse(404, "NotFound", f'pods "{url.path.split("/")[-2]}" not found')
        if pod.forbidden:
            return self.forbid("create", "pods/exec")
        assert query["container"] == ["agent"] and "tty" not in query, query
        self.send_response(101)
        for name, value in (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", "v4.channel.k8s.io")):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        wanted = {"error"} | {name for name in ("stdin", "stdout", "stderr") if query.get(name) == ["true"]}
        Exec(Spdy(self.rfile, self.connection), pod, query["command"], wanted).run()


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):  # whoever went away in the middle
        self.log.append(f"{address} went away")


class Cluster:
    """with Cluster(folder, pods, nodes) as cluster: … cluster.kubeconfig. `nodes`: None where nobody may list them."""

    def __init__(self, folder, pods, nodes):
        self.pods, self.nodes = pods, nodes
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.cluster, self.server.log = self, []
        self.kubeconfig = folder / "kubeconfig"
        server = f"http://127.0.0.1:{self.server.server_port}"
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": server}},
                               {"name": "stranger", "cluster": {"server": server + "/stranger"}}],
                  "contexts": [{"name": name, "context": {"cluster": name}} for name in ("test", "stranger")]}
        self.kubeconfig.write_text(json.dumps(config))

    def find(self, name):
        return next((pod for pod in self.pods if pod.name == name), None)

    def processes(self):
        """Of those that were exec'd, the ones that have not ended."""
        return [process.pid for pod in self.pods for process in pod.processes if process.poll() is None]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for pod in self.pods:
            for process in pod.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        self.server.shutdown()
        self.server.server_close()
